// Helpers for creating and reading arrays.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/array.h>

namespace farcall::testing {

inline const ShapeDtype kScalar(DType::kFloat32, {});
inline const ShapeDtype kVector(DType::kFloat32, {3});
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The elements of an array as T; fails for a dtype with another C++ type.
template <class T>
std::vector<T> values(const Array& array) {
  const auto elements = array.values<T>();
  return {elements.begin(), elements.end()};
}

inline Shape shape(const Array& array) { return {array.shape().begin(), array.shape().end()}; }

// 0, 1, 2, … in this shape.
inline Array counting(const Shape& shape, DType dtype = DType::kInt32) {
  int64_t size = 1;
  for (const int64_t dim : shape) size *= dim;
  return numpy::reshape(numpy::arange(0, static_cast<double>(size), 1, dtype), shape);
}

// The message of the Error that `body` raises, which must have this class and code.
template <class Class = Error, class Body>
std::string error_of(ErrorCode code, Body&& body) {
  try {
    body();
  } catch (const Class& error) {
    return error.code() == code
               ? error.message()
               : std::string(error_code_name(error.code())) + ": " + error.message();
  }
  return "no error was raised";
}

// The message of the TypeError that `body` raises.
template <class Body>
std::string refused(Body&& body) {
  return error_of<TypeError>(ErrorCode::kInvalidArgument, body);
}

}  // namespace farcall::testing
