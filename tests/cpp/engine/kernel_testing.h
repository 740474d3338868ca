// Helpers for tests of kernels: arrays of any dtype, and kernel calls like the engine's.
#pragma once

#include <complex>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <farcall/core/element_text.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/core/storage.h>
#include <farcall/program/params.h>

#include "engine/native/kernel.h"

namespace farcall::native::testing {

using Number = std::complex<double>;

// An array of numbers that its dtype represents exactly. Integers above 2^53 are set by text.
class TestArray {
 public:
  explicit TestArray(ShapeDtype type);
  TestArray(ShapeDtype type, std::span<const double> values);
  TestArray(DType dtype, std::initializer_list<double> values);
  static TestArray of_text(DType dtype, std::initializer_list<std::string_view> values);
  static TestArray of_numbers(DType dtype, std::initializer_list<Number> values);

  const ShapeDtype& type() const { return type_; }
  int64_t size() const { return type_.size(); }
  void* data() const { return storage_.data(); }
  void* element(int64_t i) const;
  void set(int64_t i, Number value);  // rounds to the dtype; integers and bools truncate
  Number get(int64_t i) const;
  double real(int64_t i) const { return get(i).real(); }
  std::string text(int64_t i) const;
  std::vector<std::string> texts() const;
  TestArray copy() const;
  bool same_bytes(const TestArray& other) const;

 private:
  ShapeDtype type_;
  Storage storage_;
};

std::ostream& operator<<(std::ostream& out, const TestArray& array);

// Integers from -limit to limit, within the dtype's range.
TestArray random_array(ShapeDtype type, std::mt19937& random, int limit = 8);

bool has_kernel(std::string_view primitive, std::span<const ShapeDtype> inputs, ShapeDtype output,
                const ParamsPtr& params = nullptr);

TestArray run_kernel(std::string_view primitive, const std::vector<TestArray>& inputs,
                     ShapeDtype output, const ParamsPtr& params = nullptr);

// Runs with the output in a copy of `inputs[shared]`.
TestArray run_in_place(std::string_view primitive, const std::vector<TestArray>& inputs,
                       size_t shared, ShapeDtype output, const ParamsPtr& params = nullptr);

// Every index of a shape, in row-major order.
void for_each_index(std::span<const int64_t> shape,
                    const std::function<void(std::span<const int64_t>)>& visit);
int64_t flat_index(std::span<const int64_t> shape, std::span<const int64_t> index);

// The distance from 1 to the next number of the dtype.
double epsilon(DType dtype);

// True if equal, both NaN, or at most `ulps` units in the last place apart.
::testing::AssertionResult is_close(const TestArray& got, int64_t i, Number expected, double ulps);

inline const std::vector<Shape> kShapes = {
    {}, {0}, {1}, {7}, {3, 5}, {2, 0, 3}, {1, 2, 1, 3, 2, 2}, {1031}};

// The value modulo the range of an integer dtype; other values are unchanged.
double wrapped(const DTypeInfo& info, double value);

}  // namespace farcall::native::testing
