// Products of bytes and of complex numbers compared with plain loops, at the end of mapped memory.
#include <algorithm>
#include <complex>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "engine/native/kernels/products/byte_product.h"
#include "engine/native/kernels/products/short_product.h"
#include "engine/native/kernels/vector/targets.h"
#include "engine/products.h"

namespace farcall::native {
namespace {

// Shapes around the sizes of tiles and their parts, and some that several threads divide.
std::vector<Sizes> shapes() {
  std::vector<Sizes> found;
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      for (const int64_t m : {1, 3, 16, 17, 33}) {
        for (const int64_t n : {1, 15, 16, 32, 41}) {
          for (const int64_t k : {2, 3, 4, 63, 64, 130}) found.push_back({m, k, n, ta, tb});
        }
      }
      found.push_back({12, 1100, 40, ta, tb});
      found.push_back({530, 130, 540, ta, tb});
      found.push_back({1, 1200, 600, ta, tb});
      found.push_back({600, 1200, 1, ta, tb});
    }
  }
  return found;
}

template <class T>
void check_integers(const Sizes& s, Multiply multiply, std::mt19937& random) {
  const Fenced<T> a(s.m * s.k), b(s.k * s.n);
  const Fenced<int32_t> c(s.m * s.n);
  a.fill(random);
  b.fill(random);
  const Matrix left = matrix(a.data(), s.m, s.k, s.is_a_transposed);
  const Matrix right = matrix(b.data(), s.k, s.n, s.is_b_transposed);
  multiply({s.m, s.k, s.n, left, right, c.data(), s.n});
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) {
      int64_t sum = 0;
      for (int64_t p = 0; p < s.k; ++p) {
        sum += int64_t{a[i * left.row_stride + p * left.column_stride]} *
               b[p * right.row_stride + j * right.column_stride];
      }
      ASSERT_EQ(c[i * s.n + j], static_cast<int32_t>(sum)) << s << " " << i << " " << j;
    }
  }
}

TEST(ByteProduct, IsExactInEachUnitOfTheProcessor) {
  std::mt19937 random(1);
  for (const auto unit : {ByteInstructions::kVnni, ByteInstructions::kAmx}) {
    if (unit > byte_instructions()) continue;
    for (const Sizes& sizes : shapes()) {
      check_integers<int8_t>(sizes, find_byte_product(DType::kInt8, unit), random);
      if (const Multiply multiply = find_byte_product(DType::kUInt8, unit)) {
        check_integers<uint8_t>(sizes, multiply, random);
      }
    }
  }
}

TEST(ShortProduct, IsExact) {
  std::mt19937 random(2);
  const Multiply int8 = find_short_product(DType::kInt8, DType::kInt32),
                 uint8 = find_short_product(DType::kUInt8, DType::kInt32),
                 int16 = find_short_product(DType::kInt16, DType::kInt32);
  if (!int16) GTEST_SKIP() << "the processor has no such instructions";
  for (const Sizes& sizes : shapes()) {
    check_integers<int8_t>(sizes, int8, random);
    check_integers<uint8_t>(sizes, uint8, random);
    check_integers<int16_t>(sizes, int16, random);
  }
}

template <class T>
void check_complex(const Sizes& s, std::mt19937& random) {
  using C = std::complex<T>;
  const Fenced<C> a(s.m * s.k), b(s.k * s.n), c(s.m * s.n);
  a.fill(random);
  b.fill(random);
  std::fill_n(c.data(), s.m * s.n, C(std::numeric_limits<T>::quiet_NaN()));
  const Matrix left = matrix(a.data(), s.m, s.k, s.is_a_transposed);
  const Matrix right = matrix(b.data(), s.k, s.n, s.is_b_transposed);
  const DType dtype = sizeof(T) == 4 ? DType::kComplex64 : DType::kComplex128;
  find_multiply(dtype)({s.m, s.k, s.n, left, right, c.data(), s.n});
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) {
      std::complex<long double> sum = 0;
      long double magnitude = 0;
      for (int64_t p = 0; p < s.k; ++p) {
        const std::complex<long double> x = a[i * left.row_stride + p * left.column_stride];
        const std::complex<long double> y = b[p * right.row_stride + j * right.column_stride];
        sum += x * y;
        magnitude += std::abs(x) * std::abs(y);
      }
      const std::complex<long double> found = c[i * s.n + j];
      ASSERT_LE(std::abs(found - sum), 12 * std::numeric_limits<T>::epsilon() * magnitude)
          << s << " " << i << " " << j;
    }
  }
}

TEST(ComplexProduct, OfShapesInAnyOrder) {
  std::mt19937 random(3);
  for (const Sizes& sizes : shapes()) {
    if (sizes.m * sizes.k * sizes.n > 1'000'000) continue;  // the oracle is slow
    check_complex<float>(sizes, random);
    check_complex<double>(sizes, random);
  }
}

}  // namespace
}  // namespace farcall::native
