// Reductions with options, windows, norms and matrices, compared with closed forms.
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/numpy/matrices.h>
#include <farcall/numpy/norms.h>
#include <farcall/numpy/polynomials.h>
#include <farcall/numpy/reductions.h>
#include <farcall/numpy/windows.h>
#include <farcall/ops/numpy.h>

#include "rows.h"

namespace farcall {
namespace {

using testing::HasSubstr;

const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInfinity = std::numeric_limits<double>::infinity();

TEST(Reductions, TakeOptions) {
  const Array x = Array::of<double>({1, 2, 3, 4}, {2, 2});
  const Array counts = Array::of<bool>({true, false, true, true}, {2, 2});
  const numpy::Axes all;
  check({
      {"sum", numpy::sum(x, 0, {{.where = counts}}), {4, 4}},
      {"sum from", numpy::sum(x, all, {{.initial = Array(10)}}), {20}},
      {"prod", numpy::prod(x, 1, {{.keepdims = true, .where = counts}}), {1, 12}},
      {"max", numpy::max(x, 0, {.initial = Array(3.5)}), {3.5, 4}},
      {"min", numpy::min(x, 0, {.initial = Array(9), .where = counts}), {1, 4}},
      {"max of none", numpy::max(numpy::zeros({0}), all, {.initial = Array(-1)}), {-1}},
      {"any", numpy::any(x > 1, 0, false, counts), {1, 1}},
      {"all", numpy::all(x > 1, 0, false, counts), {0, 1}},
      {"ptp", numpy::ptp(x), {3}},
      {"count_nonzero", numpy::count_nonzero(x - 1, 0), {1, 2}},
  });
  const Array narrow = Array::of<int8_t>({100, 100});
  EXPECT_EQ(numpy::sum(narrow, all, {.promote_integers = false}).dtype(), DType::kInt8);
  EXPECT_EQ(numpy::sum(narrow, all, {.dtype = DType::kFloat64}).dtype(), DType::kFloat64);
  EXPECT_THAT(message_of([&] { numpy::max(x, all, {.where = counts}); }),
              HasSubstr("max: where requires initial, the result for no elements"));
}

TEST(Reductions, PassOverNans) {
  const Array x = Array::of<double>({1, kNan, 3, kNan, kNan, kNan}, {2, 3});
  check({
      {"nansum", numpy::nansum(x, 1), {4, 0}},
      {"nanprod", numpy::nanprod(x, 1), {3, 1}},
      {"nanmax", numpy::nanmax(x, 1), {3, kNan}},
      {"nanmin", numpy::nanmin(x, 1), {1, kNan}},
      {"nanmean", numpy::nanmean(x, 1), {2, kNan}},
      {"nanvar", numpy::nanvar(x, 1), {1, kNan}},
      {"nanstd", numpy::nanstd(x, 1, {{}, 1}), {std::sqrt(2.0), kNan}},
      {"nanargmax", numpy::nanargmax(x, 1), {2, -1}},
      {"nanargmin", numpy::nanargmin(x, 1), {0, -1}},
  });
}

TEST(Windows, HaveTheirClosedForms) {
  check({
      {"bartlett", numpy::bartlett(5), {0, 0.5, 1, 0.5, 0}},
      {"blackman", numpy::blackman(3), {0, 1, 0}},
      {"hamming", numpy::hamming(3), {0.08, 1, 0.08}},
      {"hanning", numpy::hanning(5), {0, 0.5, 1, 0.5, 0}},
      {"kaiser", numpy::kaiser(3, 0.0), {1, 1, 1}},
      {"of one", numpy::hanning(1), {1}},
      {"of none", numpy::hanning(-1), {}},
  });
}

TEST(Norms, HaveTheirClosedForms) {
  namespace linalg = numpy::linalg;
  const Array x = Array::of<double>({3, -4, 0});
  const Array m = Array::of<double>({1, 0, 0, -2}, {2, 2});
  check({
      {"2", linalg::norm(x), {5}},
      {"1", linalg::norm(x, 1.0), {7}},
      {"0", linalg::norm(x, 0.0), {2}},
      {"3", linalg::norm(x, 3.0), {std::cbrt(91.0)}},
      {"inf", linalg::vector_norm(x, {}, true, kInfinity), {4}},
      {"-inf", linalg::vector_norm(x, {}, false, -kInfinity), {0}},
      {"fro", linalg::matrix_norm(m), {std::sqrt(5.0)}},
      {"nuc", linalg::matrix_norm(m, false, "nuc"), {3}},
      {"spectral", linalg::norm(m, 2.0), {2}},
      {"least", linalg::norm(m, -2.0), {1}},
      {"columns", linalg::norm(m, -1.0, {0, 1}), {1}},
      {"rows", linalg::norm(m, kInfinity, {}, true), {2}},
  });
  EXPECT_THAT(message_of([&] { linalg::norm(x, "fro"); }),
              HasSubstr("norm: ord of a vector must be a number, got 'fro'"));
  EXPECT_THAT(message_of([&] { linalg::norm(m, 3.0); }),
              HasSubstr("norm: ord of a matrix must be"));
}

TEST(Matrices, AreMadeFromFewNumbers) {
  const Array v = Array::of<double>({1, 2});
  const auto [rows, columns] = numpy::triu_indices(2);
  const std::vector<Array> grid = numpy::meshgrid({v, Array::of<double>({5, 6, 7})});
  check({
      {"eye", numpy::eye(2, 3, 1), {0, 1, 0, 0, 0, 1}},
      {"tri", numpy::tri(2, 3), {1, 0, 0, 1, 1, 0}},
      {"diag", numpy::diag(v, 1), {0, 1, 0, 0, 0, 2, 0, 0, 0}},
      {"diag below", numpy::diagflat(v, -1), {0, 0, 0, 1, 0, 0, 0, 2, 0}},
      {"diag of", numpy::diag(numpy::eye(2)), {1, 1}},
      {"vander", numpy::vander(v, 3), {1, 1, 1, 4, 2, 1}},
      {"rising", numpy::vander(v, 3, true), {1, 1, 1, 1, 2, 4}},
      {"rows", rows, {0, 0, 1}},
      {"columns", columns, {0, 1, 1}},
      {"grid", grid[0], {1, 2, 1, 2, 1, 2}},
      {"indices", numpy::indices({2, 2}), {0, 0, 1, 1, 0, 1, 0, 1}},
  });
  EXPECT_EQ(grid[1].type().to_string(), "f64[3,2]");
  EXPECT_EQ(numpy::sparse_indices({2, 3})[1].type().to_string(), "i32[1,3]");
  EXPECT_THAT(message_of([&] { numpy::meshgrid({v}, "yx"); }),
              HasSubstr("meshgrid: indexing must be 'xy' or 'ij', got 'yx'"));
}

TEST(Polynomials, AreVectorsOfCoefficients) {
  const Array p = Array::of<double>({1, 2, 3}), q = Array::of<double>({1, -1});
  check({
      {"polyval", numpy::polyval(p, Array::of<double>({0, 2})), {3, 11}},
      {"polyadd", numpy::polyadd(p, q), {1, 3, 2}},
      {"polysub", numpy::polysub(q, p), {-1, -1, -4}},
      {"polyder", numpy::polyder(p), {2, 2}},
      {"polyder to nothing", numpy::polyder(p, 4), {}},
      {"polyint", numpy::polyint(p, 1, 7), {1. / 3, 1, 3, 7}},
      {"polyint twice", numpy::polyint(q, 2), {1. / 6, -0.5, 0, 0}},
      {"poly", numpy::poly(Array::of<double>({1, 2})), {1, -3, 2}},
  });
  EXPECT_THAT(message_of([&] { numpy::polyder(p, -1); }),
              HasSubstr("polyder: the order must not be negative, got -1"));
  EXPECT_THAT(message_of([&] { numpy::polyadd(p, numpy::eye(2)); }),
              HasSubstr("polyadd: a2 must have one dimension, got 2"));
}

TEST(Covariances, CountObservationsByTheirWeights) {
  const Array x = Array::of<double>({1, 2, 3, 6, 4, 2}, {2, 3});
  const Array twice = Array::of<int32_t>({2, 2, 2});
  check({
      {"cov", numpy::cov(x), {1, -2, -2, 4}},
      {"biased", numpy::cov(x, {.bias = true}), {2. / 3, -4. / 3, -4. / 3, 8. / 3}},
      {"columns", numpy::cov(numpy::transpose(x), {.rowvar = false}), {1, -2, -2, 4}},
      {"fweights", numpy::cov(x, {.fweights = twice}), {0.8, -1.6, -1.6, 3.2}},
      {"aweights", numpy::cov(x, {.aweights = twice}), {1, -2, -2, 4}},
      {"corrcoef", numpy::corrcoef(x), {1, -1, -1, 1}},
  });
  EXPECT_THAT(message_of([&] { numpy::cov(x, {.fweights = Array(1)}); }),
              HasSubstr("cov: fweights must be one number for each of 3 observations"));
}

}  // namespace
}  // namespace farcall
