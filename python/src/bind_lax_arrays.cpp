// farcall.lax: operations along dimensions: cumulative ones, sorting, Fourier transforms and
// windows. Names with an underscore are for farcall's own Python.
#include "bind.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/cumulative.h>
#include <farcall/ops/fft.h>
#include <farcall/ops/reduce.h>
#include <farcall/ops/reduce_window.h>

#include "array_object.h"
#include "bound_function.h"
#include "convert.h"

namespace farcall::python {
namespace {

// An axis counted from the first; one that there is not stays as it is, for the error.
int64_t to_axis(int64_t axis, const Array& x) {
  const auto rank = static_cast<int64_t>(x.rank());
  return axis < 0 && axis >= -rank ? axis + rank : axis;
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
      "_sort_operands",
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

using Sizes = std::vector<int64_t>;

void bind_windows(nb::module_& module) {
  using ReduceWindow = Array (*)(const Array&, ReduceWindowParams);
  const std::pair<const char*, ReduceWindow> functions[] = {
      {"_reduce_window_sum", lax::reduce_window_sum},
      {"_reduce_window_prod", lax::reduce_window_prod},
      {"_reduce_window_max", lax::reduce_window_max},
      {"_reduce_window_min", lax::reduce_window_min},
  };
  for (const auto& [name, function] : functions) {
    module.def(name, [name = std::string(name + 1), function = function](
                         nb::handle x, Sizes window, Sizes strides, Padding padding,
                         Sizes base_dilation, Sizes window_dilation) {
      return wrap_object(
          function(argument(x, name, "operand"),
                   {std::move(base_dilation), std::move(padding), std::move(window_dilation),
                    std::move(window), std::move(strides)}));
    });
  }
  // The computation takes and gives lists of scalars.
  module.def("_reduce", [](nb::list operands, nb::list inits, nb::object computation,
                           nb::handle dimensions) {
    const auto arrays_of = [](const nb::list& list, const char* name) {
      std::vector<Array> arrays;
      for (nb::handle each : list) arrays.push_back(argument(each, "reduce", name));
      return arrays;
    };
    const lax::Combine combine = [&](std::span<const Array> a, std::span<const Array> b) {
      return arrays_of(nb::list(computation(wrap_all(a), wrap_all(b))), "computation");
    };
    return wrap_all(lax::reduce(arrays_of(operands, "operands"), arrays_of(inits, "init_values"),
                                combine, to_sizes(dimensions, "reduce: dimensions")));
  });
  def_function(module, "_ragged_dot", lax::ragged_dot,
               {"lhs", "rhs", "group_sizes", "preferred_element_type"});
  module.def("_fft", [](nb::handle x, const std::string& type, const Sizes& lengths) {
    return wrap_object(lax::fft(argument(x, "fft", "x"), type, lengths));
  });
}

}  // namespace

void bind_lax_arrays(nb::module_& module) {
  bind_windows(module);
  bind_cumulative(module);
  bind_sort(module);
}

}  // namespace farcall::python
