// farcall.lax: operations along dimensions: cumulative ones, sorting.
#include "bind.h"

#include <nanobind/stl/string.h>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/cumulative.h>

#include "array_object.h"
#include "convert.h"

namespace farcall::python {
namespace {

Array argument(nb::handle object, const std::string& function, const char* name) {
  return to_array(object, fmt::format("{}: argument {}", function, name));
}

// An axis that may count from the last.
int64_t to_axis(int64_t axis, const Array& x) {
  return axis < 0 ? axis + static_cast<int64_t>(x.rank()) : axis;
}

nb::list wrap_all(std::span<const Array> arrays) {
  nb::list result;
  for (const Array& array : arrays) result.append(wrap_object(array));
  return result;
}

void bind_cumulative(nb::module_& module) {
  using Cumulative = Array (*)(const Array&, int64_t, bool);
  const std::pair<const char*, Cumulative> functions[] = {
      {"cumsum", lax::cumsum}, {"cumprod", lax::cumprod},           {"cummax", lax::cummax},
      {"cummin", lax::cummin}, {"cumlogsumexp", lax::cumlogsumexp},
  };
  for (const auto& [name, function] : functions) {
    module.def(
        name,
        [name = std::string(name), function = function](nb::handle x, int64_t axis, bool reverse) {
          const Array operand = argument(x, name, "operand");
          return wrap_object(function(operand, to_axis(axis, operand), reverse));
        },
        nb::arg("operand").none(), nb::arg("axis") = 0, nb::arg("reverse") = false);
  }
}

void bind_sort(nb::module_& module) {
  module.def(
      "sort_operands",
      [](nb::sequence operands, int64_t dimension, bool is_stable, int64_t num_keys) {
        std::vector<Array> arrays;
        for (nb::handle operand : operands) arrays.push_back(argument(operand, "sort", "operand"));
        const int64_t axis = arrays.empty() ? dimension : to_axis(dimension, arrays[0]);
        return wrap_all(lax::sort(arrays, axis, is_stable, num_keys));
      },
      nb::arg("operands").none(), nb::arg("dimension"), nb::arg("is_stable"), nb::arg("num_keys"));
  module.def(
      "top_k",
      [](nb::handle x, int64_t k, int64_t axis) {
        const Array operand = argument(x, "top_k", "operand");
        const auto [values, indices] = lax::top_k(operand, k, to_axis(axis, operand));
        return wrap_all(std::vector<Array>{values, indices});
      },
      nb::arg("operand").none(), nb::arg("k"), nb::arg("axis") = -1);
}

}  // namespace

void bind_lax_arrays(nb::module_& module) {
  bind_cumulative(module);
  bind_sort(module);
}

}  // namespace farcall::python
