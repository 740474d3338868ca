// farcall.numpy: shapes, and joining and splitting of arrays. Names with an underscore are private
// to farcall's Python package.
#include "bind.h"

#include <optional>
#include <string>

#include <farcall/core/error.h>
#include <farcall/numpy/shapes.h>
#include <farcall/numpy/views.h>
#include <farcall/ops/numpy_arrays.h>

#include "bound_function.h"
#include "convert.h"

namespace farcall::python {

// "C" (row-major) or "F" (column-major).
template <>
struct Argument<numpy::ElementOrder> {
  static numpy::ElementOrder from(nb::handle object, ArgumentPlace place) {
    const std::string name = PyUnicode_Check(object.ptr()) ? nb::cast<std::string>(object) : "";
    if (name == "C") return numpy::ElementOrder::kLastFastest;
    if (name == "F") return numpy::ElementOrder::kFirstFastest;
    throw Error(ErrorCode::kUnimplemented,
                fmt::format("{}: {} must be 'C' or 'F', got {}", place.function, place.name,
                            repr_of(object)));
  }
};

namespace {

using Sizes = std::vector<int64_t>;
using ArrayList = std::vector<Array>;
using OptionalDType = std::optional<DType>;
using OptionalAxis = std::optional<int64_t>;

void bind_orders(nb::module_& module) {
  const Parameter order = {"order", "C"};
  // `copy` has no effect.
  def_function<1>(module, "reshape",
                  [](const Array& a, const Sizes& shape, numpy::ElementOrder order, nb::handle) {
                    return numpy::reshape(a, shape, order);
                  },
                  {"a", "shape", order, {"copy", nb::none()}});
  def_function(module, "ravel",
               [](const Array& a, numpy::ElementOrder order) { return numpy::ravel(a, order); },
               {"a", order});
  def_function(module, "moveaxis",
               [](const Array& a, const Sizes& source, const Sizes& destination) {
                 return numpy::moveaxis(a, source, destination);
               },
               {"a", "source", "destination"});
  def_function(module, "rollaxis", numpy::rollaxis, {"a", "axis", {"start", 0}});
  def_function(module, "permute_dims",
               [](const Array& a, const numpy::Axes& axes) { return numpy::transpose(a, axes); },
               {"a", "axes"});
  def_function(module, "flipud", [](const Array& m) { return numpy::flip(m, 0); }, {"m"});
  def_function(module, "fliplr", [](const Array& m) { return numpy::flip(m, 1); }, {"m"});
  def_function(module, "rot90", numpy::rot90, {"m", {"k", 1}, {"axes", nb::make_tuple(0, 1)}});
}

void bind_joining(nb::module_& module) {
  const Parameter axis = {"axis", 0}, dtype = {"dtype", nb::none()};
  using Joined = Array (*)(ListOf<Array>, OptionalAxis, OptionalDType);
  const auto concatenate = static_cast<Joined>(numpy::concatenate);
  def_function(module, "concatenate",
               [=](const ArrayList& arrays, OptionalAxis axis, OptionalDType dtype) {
                 return concatenate(arrays, axis, dtype);
               },
               {"arrays", axis, dtype});
  def_function<1>(module, "concat",
                  [=](const ArrayList& arrays, OptionalAxis axis) {
                    return concatenate(arrays, axis, std::nullopt);
                  },
                  {"arrays", axis});
  def_function(module, "append",
               [=](const Array& arr, const Array& values, OptionalAxis axis) {
                 return concatenate({arr, values}, axis, std::nullopt);
               },
               {"arr", "values", {"axis", nb::none()}});
  def_function(module, "stack",
               [](const ArrayList& arrays, int64_t axis, NoOut, OptionalDType dtype) {
                 return numpy::stack(arrays, axis, dtype);
               },
               {"arrays", axis, {"out", nb::none()}, dtype});
  using Stacked = Array (*)(ListOf<Array>, OptionalDType);
  const std::pair<const char*, Stacked> stacked[] = {
      {"vstack", numpy::vstack}, {"hstack", numpy::hstack}, {"dstack", numpy::dstack}};
  for (const auto& [name, function] : stacked) {
    def_function(module, name,
                 [function = function](const ArrayList& tup, OptionalDType dtype) {
                   return function(tup, dtype);
                 },
                 {"tup", dtype});
  }
  def_function(module, "column_stack",
               [](const ArrayList& tup) { return numpy::column_stack(tup); }, {"tup"});
  def_function(module, "_atleast_1d", numpy::atleast_1d, {"arys"});
  def_function(module, "_atleast_2d", numpy::atleast_2d, {"arys"});
  def_function(module, "_atleast_3d", numpy::atleast_3d, {"arys"});
  def_function(module, "_broadcast_arrays",
               [](const ArrayList& args) { return numpy::broadcast_arrays(args); }, {"args"});
  def_function(module, "_matrix_transpose", numpy::matrix_transpose, {"x"});
  def_function(module, "_unstack", numpy::unstack, {"x", "axis"});
}

}  // namespace

void bind_numpy_shapes(nb::module_& module) {
  bind_orders(module);
  bind_joining(module);
  def_function(module, "array_split",
               [](const Array& ary, nb::handle parts, int64_t axis) {
                 if (PyIndex_Check(parts.ptr()) && !PySequence_Check(parts.ptr())) {
                   const int64_t sections = to_size(parts, "array_split: indices_or_sections");
                   return numpy::array_split(ary, sections, axis);
                 }
                 return numpy::split(ary, to_sizes(parts, "array_split: indices"), axis);
               },
               {"ary", "indices_or_sections", {"axis", 0}});
  def_function(module, "_copy", numpy::copy, {"x"});
  def_function(module, "_view",
               [](const Array& x, nb::handle dtype) { return numpy::view(x, to_dtype(dtype)); },
               {"x", "dtype"});
  def_function(module, "_byteswap", numpy::byteswap, {"x"});
}

}  // namespace farcall::python
