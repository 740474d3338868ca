// Matrices of special forms, compared with their definitions.
#include <cmath>
#include <complex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/scipy/special_matrices.h>

#include "array_testing.h"

namespace farcall {
namespace {

using testing::HasSubstr;

TEST(SpecialMatrices, HaveTheirForms) {
  const Array c = Array::of<double>({1, 2}), r = Array::of<double>({9, 3, 4});
  struct Row {
    const char* name;
    Array found;
    std::vector<double> expected;
  };
  const Row rows[] = {
      {"toeplitz", linalg::toeplitz(c, r), {1, 3, 4, 2, 1, 3}},
      {"symmetric", linalg::toeplitz(c), {1, 2, 2, 1}},
      {"hankel", linalg::hankel(c, r), {1, 2, 3, 2, 3, 4}},
      {"circulant", linalg::circulant(r), {9, 4, 3, 3, 9, 4, 4, 3, 9}},
      {"companion", linalg::companion(Array::of<double>({2, 4, 6})), {-2, -3, 1, 0}},
      {"hilbert", linalg::hilbert(2), {1, 0.5, 0.5, float(1. / 3)}},
      {"hadamard", linalg::hadamard(2), {1, 1, 1, -1}},
      {"dft", numpy::real(linalg::dft(2, "n")), {0.5, 0.5, 0.5, -0.5}},
      {"block_diag", linalg::block_diag({c, Array(7)}), {1, 2, 0, 0, 0, 7}},
  };
  for (const Row& row : rows) EXPECT_EQ(doubles(row.found), row.expected) << row.name;
  EXPECT_THAT(message_of([] { linalg::hadamard(3); }),
              HasSubstr("hadamard: n must be a power of two, got 3"));
  EXPECT_THAT(message_of([] { linalg::dft(3, "root"); }),
              HasSubstr("dft: scale must be \"sqrtn\", \"n\" or None, got 'root'"));
}

TEST(Polar, IsAnOrthonormalAndASemidefiniteFactor) {
  const Array a = Array::of<double>({0, -2, 3, 0}, {2, 2});
  for (const char* side : {"right", "left"}) {
    const auto [u, p] = linalg::polar(a, side);
    const Array product = side == std::string("right") ? numpy::matmul(u, p) : numpy::matmul(p, u);
    const std::vector<double> found = doubles(product), wanted = doubles(a), sizes = doubles(u);
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(found[i], wanted[i], 1e-12);
    EXPECT_NEAR(sizes[1], -1, 1e-12);
    EXPECT_NEAR(sizes[2], 1, 1e-12);
  }
}

}  // namespace
}  // namespace farcall
