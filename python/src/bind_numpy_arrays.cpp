// farcall.numpy: sorting and splitting of arrays. Names with an underscore are private to farcall's
// Python package.
#include "bind.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/promotion.h>

#include "array_object.h"
#include "convert.h"

namespace farcall::python {
namespace {

// Raises TypeError unless an argument of numpy is None.
void refuse(const std::string& function, const char* name, nb::handle value, const char* why) {
  if (value.is_none()) return;
  throw TypeError(
      fmt::format("{}: {} must be None, as {}; got {}", function, name, why, repr_of(value)));
}

void bind_order(nb::module_& module) {
  const auto def_sort = [&](const char* name, auto function) {
    module.def(
        name,
        [name = std::string(name), function](nb::handle x, std::optional<int64_t> axis,
                                             nb::handle kind, nb::handle order, bool,
                                             bool descending) {
          refuse(name, "kind", kind, "all sorts are stable");
          refuse(name, "order", order, "arrays have no fields");
          return wrap_object(function(argument(x, name, "a"), axis, descending));
        },
        nb::arg("a").none(), nb::arg("axis").none() = -1, nb::kw_only(),
        nb::arg("kind").none() = nb::none(), nb::arg("order").none() = nb::none(),
        nb::arg("stable") = true, nb::arg("descending") = false);
  };
  def_sort("sort", numpy::sort);
  def_sort("argsort", numpy::argsort);
}

void bind_parts(nb::module_& module) {
  module.def(
      "split",
      [](nb::handle x, nb::handle parts, int64_t axis) {
        const Array array = argument(x, "split", "ary");
        if (PyIndex_Check(parts.ptr()) && !PySequence_Check(parts.ptr())) {
          return wrap_all(numpy::split(array, to_size(parts, "split: parts"), axis));
        }
        return wrap_all(numpy::split(array, to_sizes(parts, "split: indices"), axis));
      },
      nb::arg("ary").none(), nb::arg("indices_or_sections").none(), nb::arg("axis") = 0);
  module.def(
      "tile",
      [](nb::handle x, nb::handle repeats) {
        return wrap_object(
            numpy::tile(argument(x, "tile", "A"), to_sizes(repeats, "tile: argument reps")));
      },
      nb::arg("A").none(), nb::arg("reps").none());
  const auto def_triangle = [&](const char* name, auto function) {
    module.def(
        name,
        [name = std::string(name), function](nb::handle x, int64_t k) {
          return wrap_object(function(argument(x, name, "m"), k));
        },
        nb::arg("m").none(), nb::arg("k") = 0);
  };
  def_triangle("tril", numpy::tril);
  def_triangle("triu", numpy::triu);
  module.def(
      "diagonal",
      [](nb::handle x, int64_t offset, int64_t axis1, int64_t axis2) {
        return wrap_object(numpy::diagonal(argument(x, "diagonal", "a"), offset, axis1, axis2));
      },
      nb::arg("a").none(), nb::arg("offset") = 0, nb::arg("axis1") = 0, nb::arg("axis2") = 1);
}

}  // namespace

void bind_numpy_arrays(nb::module_& module) {
  bind_order(module);
  bind_parts(module);
}

}  // namespace farcall::python
