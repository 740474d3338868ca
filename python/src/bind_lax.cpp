// farcall.lax: the primitives as functions.
#include "bind.h"

#include <algorithm>

#include <nanobind/stl/string.h>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/promotion.h>
#include <farcall/ops/reduce.h>

#include "array_object.h"
#include "bound_function.h"
#include "convert.h"

namespace farcall::python {
namespace {

// Whether numbers of a weakly typed dtype keep their kind in `to`: a fraction is no integer, a
// complex number no float.
bool keeps_kind(DType from, DType to) {
  if (is_complex(from)) return is_complex(to);
  return !is_floating(from) || is_inexact(to);
}

// Python numbers take the dtype of the other operand.
std::pair<Array, Array> operands(nb::handle x, nb::handle y, const std::string& function) {
  Array a = argument(x, function, "x"), b = argument(y, function, "y");
  if (a.type().weak_type() != b.type().weak_type()) {
    Array& number = a.type().weak_type() ? a : b;
    const DType dtype = (a.type().weak_type() ? b : a).dtype();
    if (keeps_kind(number.dtype(), dtype)) number = convert(number, {dtype, false});
  }
  return {a, b};
}

void bind_elementwise_primitives(nb::module_& module) {
  nb::list rows;
#define FARCALL_UNARY(function, primitive, kinds, result, domain, summary, ...)             \
  module.def(                                                                               \
      #function,                                                                            \
      [](nb::handle x) { return wrap_object(lax::function(argument(x, primitive, "x"))); }, \
      nb::arg("x").none());                                                                 \
  rows.append(nb::make_tuple(#function, nb::make_tuple("x"), #kinds, #result, #domain, summary));
#define FARCALL_BINARY(function, primitive, kinds, result, summary, ...) \
  module.def(                                                            \
      #function,                                                         \
      [](nb::handle x, nb::handle y) {                                   \
        const auto [a, b] = operands(x, y, primitive);                   \
        return wrap_object(lax::function(a, b));                         \
      },                                                                 \
      nb::arg("x").none(), nb::arg("y").none());                         \
  rows.append(nb::make_tuple(#function, nb::make_tuple("x", "y"), #kinds, #result, "", summary));
#include <farcall/ops/elementwise_list.h>
  module.attr("_elementwise") = rows;
}

// Counts negative axes from the end and sorts, as lax requires.
std::vector<int64_t> sorted_axes(std::vector<int64_t> axes, size_t rank) {
  for (int64_t& axis : axes) axis += axis < 0 ? static_cast<int64_t>(rank) : 0;
  std::ranges::sort(axes);
  return axes;
}

using LaxReduction = Array (*)(const Array&, ListOf<int64_t>);

void bind_reductions(nb::module_& module) {
  const std::pair<const char*, LaxReduction> reductions[] = {
      {"reduce_sum", lax::reduce_sum}, {"reduce_prod", lax::reduce_prod},
      {"reduce_max", lax::reduce_max}, {"reduce_min", lax::reduce_min},
      {"reduce_and", lax::reduce_and}, {"reduce_or", lax::reduce_or},
      {"reduce_xor", lax::reduce_xor},
  };
  for (const auto& [name, function] : reductions) {
    module.def(
        name,
        [name = std::string(name), function = function](nb::handle x, nb::handle axes) {
          const Array operand = argument(x, name, "operand");
          return wrap_object(
              function(operand, sorted_axes(to_sizes(axes, name + ": axes"), operand.rank())));
        },
        nb::arg("operand").none(), nb::arg("axes").none());
  }
  const auto def_position = [&](const char* name, auto function) {
    module.def(
        name,
        [name = std::string(name), function](nb::handle x, int64_t axis, nb::handle dtype) {
          return wrap_object(function(argument(x, name, "operand"), axis, to_dtype(dtype)));
        },
        nb::arg("operand").none(), nb::arg("axis"), nb::arg("index_dtype").none());
  };
  def_position("argmax", lax::argmax);
  def_position("argmin", lax::argmin);
}

void bind_structural(nb::module_& module) {
  module.def(
      "broadcast_in_dim",
      [](nb::handle x, nb::handle shape, nb::handle dimensions) {
        return wrap_object(lax::broadcast_in_dim(
            argument(x, "broadcast_in_dim", "operand"), to_sizes(shape, "broadcast_in_dim: shape"),
            to_sizes(dimensions, "broadcast_in_dim: broadcast_dimensions")));
      },
      nb::arg("operand").none(), nb::arg("shape").none(), nb::arg("broadcast_dimensions").none());
  module.def(
      "reshape",
      [](nb::handle x, nb::handle sizes, nb::handle dimensions) {
        Array operand = argument(x, "reshape", "operand");
        if (!dimensions.is_none()) {
          operand = lax::transpose(operand, to_sizes(dimensions, "reshape: dimensions"));
        }
        return wrap_object(lax::reshape(operand, to_sizes(sizes, "reshape: new_sizes")));
      },
      nb::arg("operand").none(), nb::arg("new_sizes").none(),
      nb::arg("dimensions").none() = nb::none());
  module.def(
      "transpose",
      [](nb::handle x, nb::handle permutation) {
        return wrap_object(lax::transpose(argument(x, "transpose", "operand"),
                                          to_sizes(permutation, "transpose: permutation")));
      },
      nb::arg("operand").none(), nb::arg("permutation").none());
  module.def(
      "expand_dims",
      [](nb::handle x, nb::handle dimensions) {
        const Array array = argument(x, "expand_dims", "array");
        const auto given = to_sizes(dimensions, "expand_dims: dimensions");
        return wrap_object(
            lax::expand_dims(array, sorted_axes(given, array.rank() + given.size())));
      },
      nb::arg("array").none(), nb::arg("dimensions").none());
  module.def(
      "squeeze",
      [](nb::handle x, nb::handle dimensions) {
        const Array array = argument(x, "squeeze", "array");
        const auto given = to_sizes(dimensions, "squeeze: dimensions");
        return wrap_object(lax::squeeze(array, sorted_axes(given, array.rank())));
      },
      nb::arg("array").none(), nb::arg("dimensions").none());
  module.def(
      "slice",
      [](nb::handle x, nb::handle starts, nb::handle limits, nb::handle strides) {
        return wrap_object(lax::slice(
            argument(x, "slice", "operand"), to_sizes(starts, "slice: start_indices"),
            to_sizes(limits, "slice: limit_indices"),
            strides.is_none() ? std::vector<int64_t>() : to_sizes(strides, "slice: strides")));
      },
      nb::arg("operand").none(), nb::arg("start_indices").none(), nb::arg("limit_indices").none(),
      nb::arg("strides").none() = nb::none());
  module.def(
      "concatenate",
      [](nb::handle arrays, int64_t dimension) {
        return wrap_object(
            lax::concatenate(to_arrays(arrays, "concatenate: argument operands"), dimension));
      },
      nb::arg("operands").none(), nb::arg("dimension"));
  module.def(
      "rev",
      [](nb::handle x, nb::handle dimensions) {
        return wrap_object(
            lax::rev(argument(x, "rev", "operand"), to_sizes(dimensions, "rev: dimensions")));
      },
      nb::arg("operand").none(), nb::arg("dimensions").none());
  module.def(
      "broadcasted_iota",
      [](nb::handle dtype, nb::handle shape, int64_t dimension) {
        return wrap_object(
            lax::iota(to_dtype(dtype), to_sizes(shape, "broadcasted_iota: shape"), dimension));
      },
      nb::arg("dtype").none(), nb::arg("shape").none(), nb::arg("dimension"));
}

void bind_others(nb::module_& module) {
  module.def(
      "integer_pow",
      [](nb::handle x, int64_t y) {
        return wrap_object(lax::integer_pow(argument(x, "integer_pow", "x"), y));
      },
      nb::arg("x").none(), nb::arg("y").none());
  module.def(
      "round",
      [](nb::handle x, int64_t method) {
        return wrap_object(lax::round(argument(x, "round", "x"), method));
      },
      nb::arg("x").none(), nb::arg("rounding_method") = 0);
  module.def(
      "convert_element_type",
      [](nb::handle x, nb::handle dtype) {
        const Array operand =
            to_array(x, "convert_element_type: argument operand", {.keeps_64_bits = true});
        return wrap_object(convert(operand, {to_dtype(dtype), false}));
      },
      nb::arg("operand").none(), nb::arg("new_dtype").none());
  module.def(
      "bitcast_convert_type",
      [](nb::handle x, nb::handle dtype) {
        return wrap_object(lax::bitcast_convert_type(argument(x, "bitcast_convert_type", "operand"),
                                                     to_dtype(dtype)));
      },
      nb::arg("operand").none(), nb::arg("new_dtype").none());
  module.def(
      "reduce_precision",
      [](nb::handle x, int64_t exponent_bits, int64_t mantissa_bits) {
        return wrap_object(lax::reduce_precision(argument(x, "reduce_precision", "operand"),
                                                 exponent_bits, mantissa_bits));
      },
      nb::arg("operand").none(), nb::arg("exponent_bits"), nb::arg("mantissa_bits"));
  module.def(
      "select_n",
      [](nb::handle which, nb::args cases) {
        std::vector<Array> all;
        for (nb::handle array : cases) all.push_back(argument(array, "select_n", "cases"));
        return wrap_object(lax::select_n(argument(which, "select_n", "which"), all));
      },
      nb::arg("which").none(), nb::arg("cases"));
  module.def(
      "betainc",
      [](nb::handle a, nb::handle b, nb::handle x) {
        const Array point = argument(x, "betainc", "x");
        const auto parameter = [&](nb::handle value, const char* name) {
          const Array array = argument(value, "betainc", name);
          return array.type().weak_type() ? convert(array, {point.dtype(), false}) : array;
        };
        return wrap_object(lax::betainc(parameter(a, "a"), parameter(b, "b"), point));
      },
      nb::arg("a").none(), nb::arg("b").none(), nb::arg("x").none());
  module.def(
      "clamp",
      [](nb::handle low, nb::handle x, nb::handle high) {
        const Array middle = argument(x, "clamp", "x");
        const auto bound = [&](nb::handle value, const char* name) {
          const Array array = argument(value, "clamp", name);
          return array.type().weak_type() ? convert(array, {middle.dtype(), false}) : array;
        };
        return wrap_object(lax::clamp(bound(low, "min"), middle, bound(high, "max")));
      },
      nb::arg("min").none(), nb::arg("x").none(), nb::arg("max").none());
  module.def(
      "dot_general",
      [](nb::handle lhs, nb::handle rhs, nb::sequence dimension_numbers, nb::handle precision,
         nb::handle preferred_element_type) {
        const PrecisionScope scope(to_precision(precision));
        std::optional<DType> preferred;
        if (!preferred_element_type.is_none()) preferred = to_dtype(preferred_element_type);
        const auto part = [&](size_t i, size_t j) {
          return to_sizes(nb::object(nb::object(dimension_numbers[i])[j]),
                          "dot_general: dimension_numbers");
        };
        return wrap_object(lax::dot_general(argument(lhs, "dot_general", "lhs"),
                                            argument(rhs, "dot_general", "rhs"), part(0, 0),
                                            part(0, 1), part(1, 0), part(1, 1), preferred));
      },
      nb::arg("lhs").none(), nb::arg("rhs").none(), nb::arg("dimension_numbers"),
      nb::arg("precision").none() = nb::none(),
      nb::arg("preferred_element_type").none() = nb::none());
  module.def(
      "stop_gradient",
      [](nb::handle x) {
        return wrap_object(lax::stop_gradient(argument(x, "stop_gradient", "x")));
      },
      nb::arg("x"));
  module.def(
      "create_token", [](nb::handle) { return wrap_object(lax::create_token()); },
      nb::arg("_").none() = nb::none());
}

}  // namespace

void bind_lax(nb::module_& module) {
  bind_elementwise_primitives(module);
  bind_reductions(module);
  bind_structural(module);
  bind_others(module);
}

}  // namespace farcall::python
