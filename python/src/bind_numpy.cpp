// farcall.numpy: the array functions.
#include "bind.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "numpy_api.h"

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/special_cases.h>

#include "array_object.h"
#include "bound_function.h"
#include "convert.h"

namespace farcall::python {
namespace {

using Unary = Array (*)(const Array&);
using Binary = Array (*)(const Array&, const Array&);

std::optional<Array> optional_argument(nb::handle object, const std::string& function,
                                       const char* name) {
  if (object.is_none()) return std::nullopt;
  return argument(object, function, name);
}

numpy::Axes to_axes(nb::handle axes, const std::string& function) {
  if (axes.is_none()) return std::nullopt;
  return to_sizes(axes, function + ": axis");
}

void def_unary(nb::module_& module, const char* name, Unary function) {
  module.def(
      name,
      [name = std::string(name), function](nb::handle x) {
        return wrap_object(function(argument(x, name, "x")));
      },
      nb::arg("x").none());
}

void def_binary(nb::module_& module, const char* name, Binary function, const char* first = "x",
                const char* second = "y") {
  module.def(
      name,
      [name = std::string(name), function, first, second](nb::handle x, nb::handle y) {
        return wrap_object(function(argument(x, name, first), argument(y, name, second)));
      },
      nb::arg(first).none(), nb::arg(second).none());
}

void bind_elementwise(nb::module_& module) {
  nb::list rows;
#define FARCALL_NUMPY_UNARY(name, function, summary) \
  def_unary(module, #name, numpy::name);             \
  rows.append(nb::make_tuple(#name, nb::make_tuple("x"), #function, summary));
#define FARCALL_NUMPY_BINARY(name, function, summary) \
  def_binary(module, #name, numpy::name);             \
  rows.append(nb::make_tuple(#name, nb::make_tuple("x", "y"), #function, summary));
#include <farcall/ops/elementwise_list.h>
  module.attr("_elementwise") = rows;
  const std::pair<const char*, Unary> unary[] = {
      {"negative", numpy::negative},
      {"positive", numpy::positive},
      {"abs", numpy::absolute},
      {"absolute", numpy::absolute},
      {"sign", numpy::sign},
      {"square", numpy::square},
      {"floor", numpy::floor},
      {"ceil", numpy::ceil},
      {"rint", numpy::rint},
      {"log2", numpy::log2},
      {"log10", numpy::log10},
      {"sinc", numpy::sinc},
      {"isfinite", numpy::isfinite},
      {"isnan", numpy::isnan},
      {"isinf", numpy::isinf},
      {"real", numpy::real},
      {"imag", numpy::imag},
      {"conj", numpy::conjugate},
      {"conjugate", numpy::conjugate},
      {"logical_not", numpy::logical_not},
      {"bitwise_not", numpy::bitwise_not},
      {"invert", numpy::bitwise_not},
  };
  for (const auto& [name, function] : unary) def_unary(module, name, function);
  const std::pair<const char*, Binary> binary[] = {
      {"divide", numpy::divide},
      {"true_divide", numpy::divide},
      {"floor_divide", numpy::floor_divide},
      {"remainder", numpy::remainder},
      {"mod", numpy::remainder},
      {"power", numpy::power},
      {"arctan2", numpy::arctan2},
      {"gcd", numpy::gcd},
      {"lcm", numpy::lcm},
      {"less", numpy::less},
      {"less_equal", numpy::less_equal},
      {"greater", numpy::greater},
      {"greater_equal", numpy::greater_equal},
      {"logical_and", numpy::logical_and},
      {"logical_or", numpy::logical_or},
      {"logical_xor", numpy::logical_xor},
      {"left_shift", numpy::left_shift},
      {"right_shift", numpy::right_shift},
  };
  for (const auto& [name, function] : binary) def_binary(module, name, function);
  const std::pair<const char*, Binary> numbered[] = {
      {"hypot", numpy::hypot},
      {"logaddexp", numpy::logaddexp},
      {"logaddexp2", numpy::logaddexp2},
  };
  for (const auto& [name, function] : numbered) def_binary(module, name, function, "x1", "x2");
  module.def(
      "where",
      [](nb::handle condition, nb::handle x, nb::handle y) {
        return wrap_object(numpy::where(argument(condition, "where", "condition"),
                                        argument(x, "where", "x"), argument(y, "where", "y")));
      },
      nb::arg("condition").none(), nb::arg("x").none(), nb::arg("y").none());
  module.def(
      "clip",
      [](nb::handle x, nb::handle low, nb::handle high) {
        return wrap_object(numpy::clip(argument(x, "clip", "arr"),
                                       optional_argument(low, "clip", "min"),
                                       optional_argument(high, "clip", "max")));
      },
      nb::arg("arr").none(), nb::arg("min").none() = nb::none(),
      nb::arg("max").none() = nb::none());
}

void refuse_token(const Array& array, const std::string& what) {
  if (!array.type().is_token()) return;
  throw TypeError(fmt::format("{} must be an array or a number, got a token", what));
}

// Keeps 64-bit input until the conversion, because the dtype is explicit.
Array cast(nb::handle object, DType dtype) {
  const Array x = to_array(object, "astype: argument x", {.keeps_64_bits = true});
  return numpy::astype(x, dtype);
}

void bind_shapes(nb::module_& module) {
  module.def(
      "transpose",
      [](nb::handle x, nb::handle axes) {
        return wrap_object(
            numpy::transpose(argument(x, "transpose", "a"), to_axes(axes, "transpose")));
      },
      nb::arg("a").none(), nb::arg("axes").none() = nb::none());
  module.def(
      "broadcast_to",
      [](nb::handle x, nb::handle shape) {
        return wrap_object(numpy::broadcast_to(argument(x, "broadcast_to", "array"),
                                               to_sizes(shape, "broadcast_to: shape")));
      },
      nb::arg("array").none(), nb::arg("shape").none());
  module.def(
      "expand_dims",
      [](nb::handle x, nb::handle axis) {
        return wrap_object(numpy::expand_dims(argument(x, "expand_dims", "a"),
                                              to_sizes(axis, "expand_dims: axis")));
      },
      nb::arg("a").none(), nb::arg("axis").none());
  module.def(
      "squeeze",
      [](nb::handle x, nb::handle axis) {
        return wrap_object(numpy::squeeze(argument(x, "squeeze", "a"), to_axes(axis, "squeeze")));
      },
      nb::arg("a").none(), nb::arg("axis").none() = nb::none());
  module.def(
      "flip",
      [](nb::handle x, nb::handle axis) {
        return wrap_object(numpy::flip(argument(x, "flip", "m"), to_axes(axis, "flip")));
      },
      nb::arg("m").none(), nb::arg("axis").none() = nb::none());
  module.def(
      "swapaxes",
      [](nb::handle x, int64_t a, int64_t b) {
        return wrap_object(numpy::swapaxes(argument(x, "swapaxes", "a"), a, b));
      },
      nb::arg("a").none(), nb::arg("axis1"), nb::arg("axis2"));
  module.def(
      "astype",
      [](nb::handle x, nb::handle dtype, nb::handle /*copy*/, nb::handle device) {
        return to_python(cast(x, to_dtype(dtype)), device);
      },
      nb::arg("x").none(), nb::arg("dtype").none(), nb::kw_only(), nb::arg("copy").none() = false,
      nb::arg("device").none() = nb::none());
}

void bind_creation(nb::module_& module) {
  module.def(
      "zeros",
      [](nb::handle shape, nb::handle dtype, nb::handle device) {
        return to_python(
            numpy::zeros(to_sizes(shape, "zeros: shape"), to_dtype_or(dtype, default_float())),
            device);
      },
      nb::arg("shape").none(), nb::arg("dtype").none() = nb::none(), nb::kw_only(),
      nb::arg("device").none() = nb::none());
  module.def(
      "ones",
      [](nb::handle shape, nb::handle dtype, nb::handle device) {
        return to_python(
            numpy::ones(to_sizes(shape, "ones: shape"), to_dtype_or(dtype, default_float())),
            device);
      },
      nb::arg("shape").none(), nb::arg("dtype").none() = nb::none(), nb::kw_only(),
      nb::arg("device").none() = nb::none());
  module.def(
      "full",
      [](nb::handle shape, nb::handle value, nb::handle dtype, nb::handle device) {
        std::optional<DType> as;
        if (!dtype.is_none()) as = to_dtype(dtype);
        const Array array = to_array(value, "full: argument fill_value", {.keeps_64_bits = !!as});
        return to_python(numpy::full(to_sizes(shape, "full: shape"), array, as), device);
      },
      nb::arg("shape").none(), nb::arg("fill_value").none(), nb::arg("dtype").none() = nb::none(),
      nb::kw_only(), nb::arg("device").none() = nb::none());
  module.def("array_from_numpy", [](nb::handle array, bool share) {
    if (!PyArray_Check(array.ptr())) throw TypeError("array_from_numpy: expected a numpy array");
    return to_python(array_from_numpy(array.ptr(), {.keeps_64_bits = true, .may_share = share}));
  });
  // Converts anything except lists to an array, of `dtype` if given.
  module.def(
      "make_array",
      [](nb::handle object, nb::handle dtype, bool share) {
        constexpr const char* kWhat = "array: argument object";
        return to_python(dtype.is_none() ? to_array(object, kWhat, {.may_share = share})
                                         : to_array_of(to_dtype(dtype), object, kWhat, share));
      },
      nb::arg("object").none(), nb::arg("dtype").none(), nb::arg("share"));
  module.def(
      "as_array",
      [](nb::handle object, const std::string& what) {
        Array array = to_array(object, what);
        refuse_token(array, what);
        return wrap_object(std::move(array));
      },
      nb::arg("object").none(), nb::arg("what"));
  module.def(
      "as_arrays",
      [](nb::handle objects, const std::string& what) {
        nb::list arrays;
        for (const Array& array : to_arrays(objects, what)) {
          refuse_token(array, fmt::format("{}[{}]", what, nb::len(arrays)));
          arrays.append(wrap_object(array));
        }
        return arrays;
      },
      nb::arg("objects").none(), nb::arg("what"));
}

}  // namespace

void bind_numpy(nb::module_& module) {
  bind_elementwise(module);
  bind_shapes(module);
  bind_creation(module);
}

}  // namespace farcall::python
