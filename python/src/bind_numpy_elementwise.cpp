// farcall.numpy: composed elementwise functions.
#include "bind.h"

#include <optional>
#include <string>

#include <farcall/numpy/elementwise.h>

#include "bound_function.h"

namespace farcall::python {

template <>
struct Argument<numpy::BitOrder> {
  static numpy::BitOrder from(nb::handle object, ArgumentPlace place) {
    return static_cast<numpy::BitOrder>(index_of_word(object, place, {"big", "little"}));
  }
};

namespace {

using OptionalArray = std::optional<Array>;
using OptionalAxis = std::optional<int64_t>;

void bind_of_one_array(nb::module_& module) {
  using OfOne = Array (*)(const Array&);
  const std::pair<const char*, OfOne> plain[] = {
      {"bitwise_count", numpy::bitwise_count},
      {"deg2rad", numpy::radians},
      {"degrees", numpy::degrees},
      {"fabs", numpy::fabs},
      {"iscomplex", numpy::iscomplex},
      {"isreal", numpy::isreal},
      {"rad2deg", numpy::degrees},
      {"radians", numpy::radians},
      {"reciprocal", numpy::reciprocal},
      {"signbit", numpy::signbit},
      {"spacing", numpy::spacing},
      {"trunc", numpy::trunc},
  };
  for (const auto& [name, function] : plain) def_function(module, name, function, {"x"});
  const Parameter out = {"out", nb::none()};
  const std::pair<const char*, OfOne> with_out[] = {
      {"fix", numpy::fix}, {"isneginf", numpy::isneginf}, {"isposinf", numpy::isposinf}};
  for (const auto& [name, function] : with_out) {
    def_function(module, name, [function = function](const Array& x, NoOut) { return function(x); },
                 {"x", out});
  }
  def_function(module, "modf",
               [](const Array& x, NoOut) {
                 const auto [fraction, whole] = numpy::modf(x);
                 return std::pair(fraction, whole);
               },
               {"x", out});
  def_function(module, "_frexp",
               [](const Array& x) {
                 const auto [fraction, exponent] = numpy::frexp(x);
                 return std::pair(fraction, exponent);
               },
               {"x"});
  for (const char* name : {"round", "around"}) {
    def_function(module, name,
                 [](const Array& a, int64_t decimals, NoOut) { return numpy::round(a, decimals); },
                 {"a", {"decimals", 0}, out});
  }
  def_function(module, "angle", numpy::angle, {"z", {"deg", false}});
  // `copy` has no effect: arrays are immutable.
  def_function(module, "nan_to_num",
               [](const Array& x, nb::handle, const Array& nan, const OptionalArray& posinf,
                  const OptionalArray& neginf) {
                 return numpy::nan_to_num(x, {nan, posinf, neginf});
               },
               {"x", {"copy", true}, {"nan", 0.0}, {"posinf", nb::none()}, {"neginf", nb::none()}});
  const Parameter axis = {"axis", nb::none()}, bitorder = {"bitorder", "big"};
  def_function(module, "packbits", numpy::packbits, {"a", axis, bitorder});
  def_function(module, "unpackbits", numpy::unpackbits,
               {"a", axis, {"count", nb::none()}, bitorder});
}

void bind_of_two_arrays(nb::module_& module) {
  using OfTwo = Array (*)(const Array&, const Array&);
  const std::pair<const char*, OfTwo> plain[] = {
      {"copysign", numpy::copysign}, {"fmax", numpy::fmax},           {"fmin", numpy::fmin},
      {"fmod", numpy::fmod},         {"heaviside", numpy::heaviside}, {"ldexp", numpy::ldexp},
  };
  for (const auto& [name, function] : plain) def_function(module, name, function, {"x1", "x2"});
  def_function(module, "float_power", numpy::float_power, {"x", "y"});
  def_function(module, "nextafter", numpy::nextafter, {"x", "y"});
  def_function(module, "divmod",
               [](const Array& x1, const Array& x2) {
                 const Array quotient = numpy::floor_divide(x1, x2);
                 return std::pair(quotient, numpy::remainder(x1, x2));
               },
               {"x1", "x2"});
  using Comparison = Array (*)(const Array&, const Array&, const numpy::Closeness&);
  const std::pair<const char*, Comparison> comparisons[] = {{"isclose", numpy::isclose},
                                                            {"allclose", numpy::allclose}};
  for (const auto& [name, function] : comparisons) {
    def_function(module, name,
                 [function = function](const Array& a, const Array& b, const Array& rtol,
                                       const Array& atol, bool equal_nan) {
                   return function(a, b, {rtol, atol, equal_nan});
                 },
                 {"a", "b", {"rtol", 1e-5}, {"atol", 1e-8}, {"equal_nan", false}});
  }
  def_function(module, "array_equal", numpy::array_equal, {"a1", "a2", {"equal_nan", false}});
  def_function(module, "array_equiv", numpy::array_equiv, {"a1", "a2"});
  def_function(module, "select",
               [](const std::vector<Array>& conditions, const std::vector<Array>& choices,
                  const Array& otherwise) { return numpy::select(conditions, choices, otherwise); },
               {"condlist", "choicelist", {"default", 0}});
}

}  // namespace

void bind_numpy_elementwise(nb::module_& module) {
  bind_of_one_array(module);
  bind_of_two_arrays(module);
}

}  // namespace farcall::python
