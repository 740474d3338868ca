// farcall.numpy: products.
#include "bind.h"

#include <optional>
#include <string>
#include <variant>

#include <farcall/numpy/products.h>
#include <farcall/ops/numpy_arrays.h>

#include "bound_function.h"
#include "convert.h"
#include "convolve_mode.h"

namespace farcall::python {

// A number of axes, or the lists of axes of both operands.
struct TensordotAxes {
  std::optional<int64_t> count = {};
  std::vector<int64_t> x = {}, y = {};
};
template <>
struct Argument<TensordotAxes> {
  static TensordotAxes from(nb::handle object, ArgumentPlace place) {
    const bool is_pair = PyTuple_Check(object.ptr()) || PyList_Check(object.ptr());
    if (!is_pair && PyIndex_Check(object.ptr())) {
      return {.count = Argument<int64_t>::from(object, place)};
    }
    using Sizes = std::vector<int64_t>;
    const auto [x, y] = Argument<std::pair<Sizes, Sizes>>::from(object, place);
    return {.x = x, .y = y};
  }
};

template <>
struct Argument<numpy::EinsumPath> {
  static numpy::EinsumPath from(nb::handle object, ArgumentPlace place) {
    return to_option<numpy::EinsumPath>(object, place.name, "a list of lists of integers");
  }
};

namespace {

using OptionalDType = std::optional<DType>;

}  // namespace

void bind_numpy_products(nb::module_& module) {
  const Parameter precision = {"precision", nb::none()}, dtype = {"dtype", nb::none()},
                  preferred = {"preferred_element_type", nb::none()}, out = {"out", nb::none()};
  using Product = Array (*)(const Array&, const Array&, OptionalDType);
  const std::pair<const char*, Product> products[] = {{"matmul", numpy::matmul},
                                                      {"dot", numpy::dot},
                                                      {"inner", numpy::inner},
                                                      {"vdot", numpy::vdot}};
  for (const auto& [name, function] : products) {
    def_function<2>(module, name,
                    [function = function](const Array& a, const Array& b, AnyPrecision precision,
                                          OptionalDType preferred) {
                      const PrecisionScope scope(precision);
                      return function(a, b, preferred);
                    },
                    {"a", "b", precision, preferred});
  }
  def_function(module, "outer",
               [](const Array& a, const Array& b, NoOut) { return numpy::outer(a, b); },
               {"a", "b", out});
  def_function<2>(module, "tensordot",
                  [](const Array& a, const Array& b, const TensordotAxes& axes,
                     AnyPrecision precision, OptionalDType preferred) {
                    const PrecisionScope scope(precision);
                    return axes.count ? numpy::tensordot(a, b, *axes.count, preferred)
                                      : numpy::tensordot(a, b, axes.x, axes.y, preferred);
                  },
                  {"a", "b", {"axes", 2}, precision, preferred});
  def_function<3>(module, "vecdot",
                  [](const Array& x1, const Array& x2, int64_t axis, AnyPrecision precision,
                     OptionalDType preferred) {
                    const PrecisionScope scope(precision);
                    return numpy::vecdot(x1, x2, axis, preferred);
                  },
                  {"x1", "x2", {"axis", -1}, precision, preferred});
  def_function(module, "matvec", numpy::matvec, {"x1", "x2"});
  def_function(module, "vecmat", numpy::vecmat, {"x1", "x2"});
  def_function(module, "kron", numpy::kron, {"a", "b"});
  def_function(module, "cross",
               [](const Array& a, const Array& b, int64_t axisa, int64_t axisb, int64_t axisc,
                  std::optional<int64_t> axis) {
                 if (axis) return numpy::cross(a, b, {*axis, *axis, *axis});
                 return numpy::cross(a, b, {axisa, axisb, axisc});
               },
               {"a", "b", {"axisa", -1}, {"axisb", -1}, {"axisc", -1}, {"axis", nb::none()}});
  def_function(module, "trace",
               [](const Array& a, int64_t offset, int64_t axis1, int64_t axis2, OptionalDType dtype,
                  NoOut) { return numpy::trace(a, offset, axis1, axis2, dtype); },
               {"a", {"offset", 0}, {"axis1", 0}, {"axis2", 1}, dtype, out});
  using Sliding = Array (*)(const Array&, const Array&, numpy::ConvolveMode, OptionalDType);
  const std::tuple<const char*, Sliding, const char*> slidings[] = {
      {"convolve", numpy::convolve, "full"}, {"correlate", numpy::correlate, "valid"}};
  for (const auto& [name, function, mode] : slidings) {
    def_function<2>(module, name,
                    [function = function](const Array& a, const Array& v, numpy::ConvolveMode mode,
                                          AnyPrecision precision, OptionalDType preferred) {
                      const PrecisionScope scope(precision);
                      return function(a, v, mode, preferred);
                    },
                    {"a", "v", {"mode", mode}, precision, preferred});
  }
  def_function(
      module, "_einsum",
      [](const std::string& subscripts, const std::vector<Array>& operands,
         const std::optional<numpy::EinsumPath>& path, bool in_order, AnyPrecision precision,
         OptionalDType preferred) {
        const PrecisionScope scope(precision);
        return numpy::einsum(subscripts, operands, {path, in_order, preferred});
      },
      {"subscripts", "operands", "path", "in_order", "precision", "preferred_element_type"});
}

}  // namespace farcall::python
