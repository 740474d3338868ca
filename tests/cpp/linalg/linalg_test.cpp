// farcall::linalg: values, derivatives and batches of small matrices with known results.
#include <farcall/linalg/linalg.h>

#include <cmath>
#include <complex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/differentiate.h>

namespace farcall {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

std::vector<double> values(const Array& x) {
  const auto elements = x.values<double>();
  return {elements.begin(), elements.end()};
}

// Matches the elements of a float64 array up to rounding.
auto are(std::vector<double> expected) { return Pointwise(DoubleNear(1e-12), std::move(expected)); }

Array matrix(std::initializer_list<double> elements, int64_t rows, int64_t columns) {
  return Array::of(elements, {rows, columns});
}

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.message();
  }
  return "no error was raised";
}

TEST(Cholesky, FactorsAndItsDerivativeRebuildTheMatrix) {
  const Array a = matrix({4, 2, 2, 5}, 2, 2);
  EXPECT_THAT(values(linalg::cholesky(a)), are({2, 0, 1, 2}));
  // d(L L^T) = dL L^T + L dL^T
  const Array da = matrix({1, 3, 3, 2}, 2, 2);
  const JvpResults results =
      jvp([](std::span<const Array> x) { return std::vector<Array>{linalg::cholesky(x[0])}; },
          std::span(&a, 1), std::span(&da, 1));
  const Array half = numpy::matmul(results.tangents[0], numpy::transpose(results.primals[0]));
  EXPECT_THAT(values(half + numpy::transpose(half)), are({1, 3, 3, 2}));
}

TEST(Lu, PivotsAreCountedFromZeroAndGiveThePermutation) {
  const auto [lu, pivots, permutation] = linalg::lu(matrix({1, 2, 4, 4}, 2, 2));
  EXPECT_THAT(values(lu), are({4, 4, 0.25, 1}));
  EXPECT_THAT(pivots.values<int32_t>(), ElementsAre(1, 1));
  EXPECT_THAT(permutation.values<int32_t>(), ElementsAre(1, 0));
}

TEST(ExchangeRows, GoesThereAndBack) {
  const Array x = matrix({1, 2, 3, 4, 5, 6}, 3, 2);
  const Array pivots = Array::of<int32_t>({2, 2});
  const Array there = linalg::exchange_rows(x, pivots);
  EXPECT_THAT(values(there), ElementsAre(5, 6, 1, 2, 3, 4));
  EXPECT_THAT(values(linalg::exchange_rows(there, pivots, true)), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(TriangularSolve, SolvesFromBothSides) {
  const Array a = matrix({2, 0, 1, 4}, 2, 2);
  const linalg::TriangularOptions left = {.left_side = true, .lower = true};
  EXPECT_THAT(values(linalg::triangular_solve(a, matrix({2, 5}, 2, 1), left)), are({1, 1}));
  EXPECT_THAT(values(linalg::triangular_solve(a, matrix({3, 4}, 1, 2), {.lower = true})),
              are({1, 1}));
}

TEST(Solve, BroadcastsItsMatrices) {
  const Array a = matrix({2, 0, 0, 4}, 2, 2);
  const Array b = Array::of({2.0, 4.0, 6.0, 8.0}, {2, 2, 1});
  EXPECT_THAT(values(linalg::solve(a, b)), are({1, 1, 3, 2}));
  EXPECT_THAT(values(linalg::inv(a)), are({0.5, 0, 0, 0.25}));
}

TEST(Solve, IsTransposedForReverseMode) {
  const Array a = matrix({2, 1, 0, 4}, 2, 2);
  const Array b = Array::of({2.0, 4.0});
  const Linearized linear = linearize(
      [&](std::span<const Array> x) { return std::vector<Array>{linalg::solve(a, x[0])}; },
      std::span(&b, 1), {true});
  const Array ones = Array::of({1.0, 1.0});
  // a^-T (1, 1)
  EXPECT_THAT(values(linear.derivative->transpose(std::span(&ones, 1))[0]), are({0.5, 0.125}));
}

TEST(Qr, HasOrthonormalColumns) {
  const auto [q, r] = linalg::qr(matrix({3, 0, 4, 5}, 2, 2));
  EXPECT_THAT(values(numpy::matmul(numpy::transpose(q), q)), are({1, 0, 0, 1}));
  EXPECT_THAT(values(numpy::matmul(q, r)), are({3, 0, 4, 5}));
}

TEST(Spectra, AreOrdered) {
  const auto [v, w] = linalg::eigh(matrix({2, 1, 1, 2}, 2, 2));
  EXPECT_THAT(values(w), are({1, 3}));
  const auto [u, s, vh] = linalg::svd(matrix({0, 2, -3, 0}, 2, 2));
  EXPECT_THAT(values(s), are({3, 2}));
  const auto complex = linalg::eig(matrix({0, -1, 1, 0}, 2, 2), false, false);
  EXPECT_THAT(complex.w.values<std::complex<double>>(),
              ElementsAre(std::complex(0.0, 1.0), std::complex(0.0, -1.0)));
  EXPECT_TRUE(complex.left.is_null());
}

TEST(Determinant, HasItsSign) {
  const Array a = Array::of(
      {0.0, 2.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 2.0}, {4, 4});
  EXPECT_THAT(values(linalg::det(a)), are({-16}));
  const auto [sign, logabsdet] = linalg::slogdet(a);
  EXPECT_THAT(values(sign), are({-1}));
  EXPECT_THAT(values(logabsdet), are({std::log(16.0)}));
}

TEST(Batches, OfRightHandSidesAreOneCall) {
  const Array a = matrix({2, 0, 0, 4}, 2, 2);
  const Array b = Array::of({2.0, 4.0, 6.0, 8.0}, {2, 2, 1});
  const Array operands[] = {a, b};
  const int64_t axes[] = {kNotBatched, 0};
  const BatchAxis axis{2, {}};
  const auto solve = [](std::span<const Array> x) {
    return std::vector<Array>{
        linalg::triangular_solve(x[0], x[1], {.left_side = true, .lower = true})};
  };
  const std::vector<Array> results = batched_in_front(batch(solve, operands, axes, axis), axis);
  EXPECT_THAT(values(results[0]), are({1, 1, 3, 2}));
}

TEST(Threads, MayFactorAtTheSameTime) {
  const Array a = matrix({4, 2, 2, 5}, 2, 2);
  std::vector<std::thread> threads;
  std::vector<std::vector<double>> results(4);
  for (auto& result : results) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) result = values(linalg::svd(a).s);
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, results[0]);
}

TEST(Mistakes, AreNamed) {
  const Array wide = matrix({1, 2, 3, 4, 5, 6}, 2, 3);
  EXPECT_THAT(message_of([&] { linalg::inv(wide); }),
              HasSubstr("inv: takes square matrices, got f64[2,3]"));
  EXPECT_THAT(message_of([&] {
                linalg::lu(Array::of<int32_t>({1, 2, 3, 4}, {2, 2}));
              }),
              HasSubstr("lu: takes float32, float64, complex64 or complex128; got i32[2,2]"));
}

}  // namespace
}  // namespace farcall
