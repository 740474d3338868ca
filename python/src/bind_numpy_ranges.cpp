// farcall.numpy: ranges, quantiles, lines through points, and functions of whole numbers. Names
// with an underscore are for farcall's own Python.
#include "bind.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/numpy_arrays.h>

#include "array_object.h"
#include "bound_function.h"
#include "convert.h"

namespace farcall::python {
namespace {

using OptionalDType = std::optional<DType>;

void bind_ranges(nb::module_& module) {
  const Parameter num = {"num", 50}, endpoint = {"endpoint", true}, dtype = {"dtype", nb::none()},
                  axis = {"axis", 0};
  def_function(module, "linspace",
               [](const ListedArray& start, const ListedArray& stop, int64_t num, bool endpoint,
                  bool retstep, OptionalDType dtype, int64_t axis) {
                 const Array values = numpy::linspace(start, stop, num, endpoint, dtype, axis);
                 if (!retstep) return to_python(values);
                 return to_python(
                     std::pair(values, numpy::linspace_step(start, stop, num, endpoint, dtype)));
               },
               {"start", "stop", num, endpoint, {"retstep", false}, dtype, axis});
  def_function(module, "logspace",
               [](const ListedArray& start, const ListedArray& stop, int64_t num, bool endpoint,
                  const ListedArray& base, OptionalDType dtype, int64_t axis) {
                 return numpy::logspace(start, stop, num, endpoint, base, dtype, axis);
               },
               {"start", "stop", num, endpoint, {"base", 10.0}, dtype, axis});
  def_function(module, "geomspace",
               [](const ListedArray& start, const ListedArray& stop, int64_t num, bool endpoint,
                  OptionalDType dtype, int64_t axis) {
                 return numpy::geomspace(start, stop, num, endpoint, dtype, axis);
               },
               {"start", "stop", num, endpoint, dtype, axis});
}

numpy::QuantileMethod to_method(const std::string& name, const std::string& function) {
  constexpr const char* kNames[] = {"linear", "lower", "higher", "midpoint", "nearest"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return static_cast<numpy::QuantileMethod>(i);
  }
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("{}: method must be 'linear', 'lower', 'higher', 'midpoint' or 'nearest', "
                  "got '{}'",
                  function, name));
}

void bind_quantiles(nb::module_& module) {
  using Quantile = Array (*)(const Array&, const Array&, const numpy::QuantileOptions&);
  const auto def_quantile = [&](const char* name, Quantile function, bool ignores_nan) {
    module.def(
        (std::string("_") + name).c_str(),
        [name = std::string(name), function, ignores_nan](
            nb::handle x, nb::handle q, nb::handle axis, const std::string& method, bool keepdims) {
          numpy::QuantileOptions options = {
              .method = to_method(method, name), .keepdims = keepdims, .ignores_nan = ignores_nan};
          if (!axis.is_none()) options.axes = to_sizes(axis, name + ": axis");
          return wrap_object(function(argument(x, name, "a"), argument(q, name, "q"), options));
        },
        nb::arg("a").none(), nb::arg("q").none(), nb::arg("axis").none(), nb::arg("method"),
        nb::arg("keepdims"));
  };
  def_quantile("quantile", numpy::quantile, false);
  def_quantile("nanquantile", numpy::quantile, true);
  def_quantile("percentile", numpy::percentile, false);
  def_quantile("nanpercentile", numpy::percentile, true);
  for (const bool ignores_nan : {false, true}) {
    const std::string name = ignores_nan ? "nanmedian" : "median";
    module.def(
        ("_" + name).c_str(),
        [name, ignores_nan](nb::handle x, nb::handle axis, bool keepdims) {
          std::vector<int64_t> axes;
          if (!axis.is_none()) axes = to_sizes(axis, name + ": axis");
          const Array array = argument(x, name, "a");
          return wrap_object(numpy::median(
              array, axis.is_none() ? numpy::Axes() : numpy::Axes(axes), keepdims, ignores_nan));
        },
        nb::arg("a").none(), nb::arg("axis").none(), nb::arg("keepdims"));
  }
}

void bind_lines(nb::module_& module) {
  module.def(
      "_searchsorted",
      [](nb::handle a, nb::handle v, bool after_equal) {
        return wrap_object(numpy::searchsorted(argument(a, "searchsorted", "a"),
                                               argument(v, "searchsorted", "v"), after_equal));
      },
      nb::arg("a").none(), nb::arg("v").none(), nb::arg("after_equal"));
  module.def(
      "_interp",
      [](nb::handle x, nb::handle xp, nb::handle fp, nb::handle left, nb::handle right,
         std::optional<double> period) {
        numpy::InterpOptions options = {.period = period};
        if (!left.is_none()) options.left = argument(left, "interp", "left");
        if (!right.is_none()) options.right = argument(right, "interp", "right");
        return wrap_object(numpy::interp(argument(x, "interp", "x"), argument(xp, "interp", "xp"),
                                         argument(fp, "interp", "fp"), options));
      },
      nb::arg("x").none(), nb::arg("xp").none(), nb::arg("fp").none(), nb::arg("left").none(),
      nb::arg("right").none(), nb::arg("period").none());
  module.def(
      "_gradient",
      [](nb::handle f, nb::handle spacing, int64_t axis) {
        return wrap_object(numpy::gradient(argument(f, "gradient", "f"),
                                           argument(spacing, "gradient", "varargs"), axis));
      },
      nb::arg("f").none(), nb::arg("spacing").none(), nb::arg("axis"));
}

}  // namespace

void bind_numpy_ranges(nb::module_& module) {
  bind_ranges(module);
  bind_quantiles(module);
  bind_lines(module);
}

}  // namespace farcall::python
