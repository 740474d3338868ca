// Products and linear algebra, compared with closed forms.
#include <cmath>
#include <limits>
#include <vector>

#include <farcall/numpy/linalg.h>
#include <farcall/numpy/products.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/trace/record.h>

#include "rows.h"

namespace farcall {
namespace {

using numpy::ConvolveMode;
using testing::HasSubstr;

// The type of the first result in the program of a function.
std::string first_result(const FlatFunction& function, std::initializer_list<Shape> shapes) {
  std::vector<ShapeDtype> types;
  for (const Shape& shape : shapes) types.emplace_back(DType::kFloat32, shape);
  const ProgramPtr program = record(function, types);
  return program->variable_types[program->equations[0].outputs[0]].to_string();
}

const Array kMatrix = Array::of<double>({1, 2, 3, 4}, {2, 2});
const Array kVector = Array::of<double>({5, 6});

TEST(Products, SumOverTheirAxes) {
  const Array three = Array::of<double>({1, 2, 3}), other = Array::of<double>({4, 5, 7});
  check({
      {"tensordot", numpy::tensordot(kMatrix, kMatrix), {30}},
      {"of one axis", numpy::tensordot(kMatrix, kMatrix, 1), {7, 10, 15, 22}},
      {"of none", numpy::tensordot(kVector, kVector, 0), {25, 30, 30, 36}},
      {"inner", numpy::inner(kMatrix, kVector), {17, 39}},
      {"inner of a scalar", numpy::inner(kVector, 2), {10, 12}},
      {"vdot", numpy::vdot(kMatrix, kMatrix), {30}},
      {"vecdot", numpy::vecdot(kMatrix, kVector), {17, 39}},
      {"vecdot of columns", numpy::vecdot(kMatrix, kMatrix, 0), {10, 20}},
      {"matvec", numpy::matvec(kMatrix, kVector), {17, 39}},
      {"vecmat", numpy::vecmat(kVector, kMatrix), {23, 34}},
      {"kron", numpy::kron(kVector, Array::of<double>({1, 10})), {5, 50, 6, 60}},
      {"cross", numpy::cross(three, other), {-1, 5, -3}},
      {"cross of two", numpy::cross(kVector, Array::of<double>({1, 2})), {4}},
      {"cross of two and three", numpy::cross(kVector, three), {18, -15, 4}},
      {"trace", numpy::trace(kMatrix), {5}},
  });
  const Array i = Array::weak(std::complex<double>(0, 1));
  check({{"vdot conjugates", numpy::real(numpy::vdot(i * kVector, i * kVector)), {61}}});
  EXPECT_THAT(
      message_of([] { numpy::tensordot(kMatrix, kVector); }),
      HasSubstr(
          "tensordot: the number of axes must lie in [0, 1] for shapes [2,2] and [2], got 2"));
  EXPECT_THAT(message_of([] {
                numpy::cross(kVector, Array::of<double>({1, 2, 3, 4}));
              }),
              HasSubstr("cross: vectors have two or three elements, here 2 and 4"));
}

TEST(Products, WidenToThePreferredDtype) {
  const Array bytes = Array::of<int8_t>({100, 100});
  const Array wide = numpy::dot(bytes, bytes, DType::kInt32);
  EXPECT_EQ(wide.item<int32_t>(), 20000);
  EXPECT_EQ(numpy::einsum("i,i->", {bytes, bytes}, {.preferred = DType::kInt32}).item<int32_t>(),
            20000);
  EXPECT_EQ(numpy::trace(numpy::kron(bytes, numpy::eye(2)), 0, 0, 1, DType::kInt16).dtype(),
            DType::kInt16);
  EXPECT_EQ(numpy::matmul(kMatrix, kMatrix, DType::kFloat32).dtype(), DType::kFloat32);
}

TEST(Einsum, MultipliesInTheOrderThatIsAskedFor) {
  const auto first_product = [](const numpy::EinsumOptions& options) {
    return first_result(
        [&](std::span<const Array> x) {
          return std::vector<Array>{numpy::einsum("ij,jk,kl->il", x, options)};
        },
        {{2, 3}, {3, 4}, {4, 1}});
  };
  EXPECT_EQ(first_product({.in_order = true}), "f32[2,4]");
  EXPECT_EQ(first_product({}), "f32[3,1]");
  EXPECT_EQ(first_product({.path = {{{1, 2}, {0, 1}}}}), "f32[3,1]");
}

TEST(Convolve, SlidesOneVectorAlongAnother) {
  const Array x = Array::of<double>({1, 2, 3, 4}), y = Array::of<double>({1, 10});
  check({
      {"full", numpy::convolve(x, y), {1, 12, 23, 34, 40}},
      {"same", numpy::convolve(y, x, ConvolveMode::kSame), {1, 12, 23, 34}},
      {"valid", numpy::convolve(x, y, ConvolveMode::kValid), {12, 23, 34}},
      {"correlate", numpy::correlate(x, y), {21, 32, 43}},
      {"correlate full", numpy::correlate(x, y, ConvolveMode::kFull), {10, 21, 32, 43, 4}},
      {"of a longer one", numpy::correlate(y, x), {43, 32, 21}},
  });
  EXPECT_THAT(message_of([&] { numpy::convolve(x, numpy::zeros({0})); }),
              HasSubstr("convolve: takes two vectors that are not empty; got [4] and [0]"));
}

TEST(LinearAlgebra, PromotesItsOperands) {
  namespace linalg = numpy::linalg;
  const Array whole = Array::of<int32_t>({2, 0, 0, 4}, {2, 2});
  const Array tall = Array::of<double>({1, 0, 0, 1, 1, 1}, {3, 2});
  const linalg::Lstsq fit = linalg::lstsq(tall, Array::of<double>({1, 2, 0}));
  check({
      {"solve", linalg::solve(whole, Array::of<int32_t>({2, 2})), {1, 0.5}},
      {"inv", linalg::inv(whole), {0.5, 0, 0, 0.25}},
      {"cholesky", linalg::cholesky(whole, true), {std::sqrt(2.0), 0, 0, 2}},
      {"eigvalsh", linalg::eigh(whole).w, {2, 4}},
      {"svdvals", linalg::svdvals(whole), {4, 2}},
      {"hermitian", linalg::svdvals(-1 * whole, {.hermitian = true}), {4, 2}},
      {"largest", linalg::svd(whole, {.full_matrices = false, .subset = {{0, 1}}}).s, {4}},
      {"det", linalg::det(whole), {8}},
      {"matrix_rank", linalg::matrix_rank(numpy::ones({3, 3})), {1}},
      {"rank of a vector", linalg::matrix_rank(kVector), {1}},
      {"cond", linalg::cond(whole), {2}},
      {"cond of columns", linalg::cond(whole, 1.0), {2}},
      {"singular",
       linalg::cond(numpy::zeros({2, 2}), "fro"),
       {std::numeric_limits<double>::infinity()}},
      {"fit", fit.x, {0, 1}},
      {"residuals", fit.residuals, {3}},
      {"tensorinv", linalg::tensorinv(numpy::reshape(whole, {1, 2, 2})), {0.5, 0, 0, 0.25}},
      {"tensorsolve", linalg::tensorsolve(whole, Array::of<int32_t>({2, 2})), {1, 0.5}},
  });
  EXPECT_EQ(linalg::inv(whole).dtype(), DType::kFloat32);
  EXPECT_EQ(linalg::lstsq(whole, kVector, {.numpy_residuals = true}).residuals.size(), 0);
  EXPECT_THAT(message_of([&] {
                linalg::svd(whole, {.subset = {{0, 1}}});
              }),
              HasSubstr("svd: subset_by_index needs full_matrices=False"));
  EXPECT_THAT(message_of([&] {
                linalg::lstsq(whole, Array::of<double>({1, 2, 3}));
              }),
              HasSubstr("lstsq: a must be one matrix and b match its rows, got b [3] and a [2,2]"));
}

TEST(LinearAlgebra, MultipliesChainsAndPowers) {
  namespace linalg = numpy::linalg;
  check({
      {"zeroth", linalg::matrix_power(kMatrix, 0), {1, 0, 0, 1}},
      {"fifth", linalg::matrix_power(kMatrix, 5), {1069, 1558, 2337, 3406}},
      {"inverse", linalg::matrix_power(kMatrix, -1), {-2, 1, 1.5, -0.5}},
      {"chain", linalg::multi_dot({kVector, kMatrix, kMatrix, kVector}), {1717}},
      {"trace", linalg::trace(kMatrix, 1), {2}},
  });
  const auto chain = [](std::span<const Array> x) {
    return std::vector<Array>{linalg::multi_dot(x)};
  };
  EXPECT_EQ(first_result(chain, {{10, 100}, {100, 5}, {5, 50}}), "f32[10,5]");
  EXPECT_EQ(first_result(chain, {{100, 10}, {10, 50}, {50, 5}}), "f32[10,5]");
  EXPECT_THAT(message_of([] { linalg::multi_dot({kMatrix}); }),
              HasSubstr("multi_dot: takes two arrays or more, up to 1000, got 1"));
  EXPECT_THAT(message_of([] { linalg::matrix_power(kVector, 2); }),
              HasSubstr("matrix_power: takes square matrices, got [2]"));
}

}  // namespace
}  // namespace farcall
