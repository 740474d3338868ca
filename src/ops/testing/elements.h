// Elements of arrays as numbers, for the checks. They are read and written without operations, so
// that no flag and no engine affects them.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <farcall/trace/array.h>

namespace farcall::testing::detail {

using Number = std::complex<double>;

// The distance from 1 to the next number; 0 for dtypes that are neither
// floating nor complex.
double epsilon_of(DType dtype);
// The largest one among the arrays.
double epsilon_of(std::span<const Array> arrays);

// Of an array of floats or complex numbers.
std::vector<Number> numbers_of(const Array& x);
// Rounds the numbers to the dtype, and drops imaginary parts if it is not complex.
Array array_of(std::span<const Number> numbers, ShapeDtype type);

// The same elements with a strong dtype.
Array strengthened(const Array& x);
// Arrays of one type, along a new dimension. Raises INVALID_ARGUMENT for an axis out of range.
Array stacked(std::span<const Array> arrays, int64_t axis);

struct Tolerance {
  double atol, rtol;
};
// By how much a difference exceeds the tolerance. Two NaN are equal. Integers are subtracted
// exactly; random keys are equal or not.
double excess(double got, double wanted, const Tolerance& tolerance);
double excess(DType dtype, const std::byte* got, const std::byte* wanted,
              const Tolerance& tolerance);

// The index of element number `element`, row-major.
std::vector<int64_t> index_of(int64_t element, std::span<const int64_t> shape);
// "name[1, 2]"; the name alone for a scalar.
std::string element_name(const std::string& name, int64_t element, std::span<const int64_t> shape);

}  // namespace farcall::testing::detail
