// farcall::numpy: values and shapes, compared with plain loops and Python's semantics.
#include <cmath>
#include <limits>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "arrays.h"

namespace farcall {
namespace {

using numpy::Axes;
using numpy::Index;
using numpy::Slice;
using testing::counting;
using ::testing::ElementsAre;
using testing::kInf;
using testing::kNaN;
using testing::shape;
using testing::values;
using Sizes = std::vector<int64_t>;

// ---- broadcasting ----

TEST(Lists, AreWrittenWhereTheFunctionIsCalled) {
  const Array x = numpy::reshape(numpy::arange(0, 6), {2, 3});
  EXPECT_THAT(shape(numpy::zeros({2, 3})), ElementsAre(2, 3));
  EXPECT_EQ(numpy::ones({}).rank(), 0u);
  EXPECT_THAT(values<int32_t>(numpy::sum(x, 0)), ElementsAre(3, 5, 7));
  EXPECT_THAT(values<int32_t>(numpy::sum(x, {0, 1})), ElementsAre(15));
  EXPECT_THAT(values<int32_t>(numpy::take(x, {numpy::Ellipsis(), 1})), ElementsAre(1, 4));
  EXPECT_THAT(shape(numpy::concatenate({x, x}, 1)), ElementsAre(2, 6));
  EXPECT_THAT(values<int32_t>(lax::slice(x, {0, 1}, {2, 2})), ElementsAre(1, 4));
  const std::vector<int64_t> flat = {6};
  EXPECT_THAT(shape(numpy::reshape(x, flat)), ElementsAre(6));
}

TEST(Operators, AreNumpysFunctions) {
  const Array x = Array::of<int32_t>({1, 2, 3, 4});
  EXPECT_THAT(values<bool>((x % 2 == 1) | !(x != 4)), ElementsAre(true, false, true, true));
  EXPECT_THAT(values<int32_t>(((x << 2) >> 1) ^ 1), ElementsAre(3, 5, 7, 9));
  EXPECT_THAT(values<int32_t>(~x & 6), ElementsAre(6, 4, 4, 2));
  Array y = x;
  y += 1;
  y *= y;
  y -= x;
  EXPECT_THAT(values<int32_t>(y), ElementsAre(3, 7, 13, 21));
  EXPECT_THAT(values<int32_t>(x), ElementsAre(1, 2, 3, 4));
}

TEST(Broadcasting, ShapesMeet) {
  const auto meet = [](const Shape& a, const Shape& b) {
    return shape(numpy::zeros(a) + numpy::zeros(b));
  };
  EXPECT_THAT(meet({2, 3}, {3}), ElementsAre(2, 3));
  EXPECT_THAT(meet({3}, {2, 1}), ElementsAre(2, 3));
  EXPECT_THAT(meet({2, 1, 4}, {3, 1}), ElementsAre(2, 3, 4));
  EXPECT_THAT(meet({}, {2, 2}), ElementsAre(2, 2));
  EXPECT_THAT(meet({0}, {1}), ElementsAre(0));
  EXPECT_THAT(meet({5, 0, 1}, {1, 4}), ElementsAre(5, 0, 4));
  EXPECT_THAT(meet({}, {}), ElementsAre());
}

TEST(Broadcasting, Values) {
  const Array sum = counting({2, 1}) * 10 + counting({3});
  EXPECT_THAT(values<int32_t>(sum), ElementsAre(0, 1, 2, 10, 11, 12));
  EXPECT_THAT(values<int32_t>(numpy::broadcast_to(counting({2, 1}), Shape{2, 2, 2})),
              ElementsAre(0, 0, 1, 1, 0, 0, 1, 1));
}

TEST(Where, BroadcastsAllThree) {
  const Array condition = Array::of<bool>({true, false});
  const Array y = numpy::where(condition, counting({2, 1}), -1);
  EXPECT_THAT(values<int32_t>(y), ElementsAre(0, -1, 1, -1));
  EXPECT_THAT(values<int32_t>(numpy::where(counting({3}), 1, 0)), ElementsAre(0, 1, 1));
}

// ---- arithmetic ----

TEST(Division, FloorAndRemainderOfIntegersHaveTheDivisorsSign) {
  for (int a = -7; a <= 7; ++a) {
    for (const int b : {-3, -2, -1, 1, 2, 3}) {
      const int floor = static_cast<int>(std::floor(static_cast<double>(a) / b));
      const Array x = Array::scalar(a), y = Array::scalar(b);
      EXPECT_EQ(numpy::floor_divide(x, y).item<int32_t>(), floor) << a << " // " << b;
      EXPECT_EQ(numpy::remainder(x, y).item<int32_t>(), a - floor * b) << a << " % " << b;
    }
  }
}

TEST(Division, OfUnsignedIntegers) {
  const Array x = Array::of<uint8_t>({250, 7}), y = Array::of<uint8_t>({3, 200});
  EXPECT_THAT(values<uint8_t>(numpy::floor_divide(x, y)), ElementsAre(83, 0));
  EXPECT_THAT(values<uint8_t>(numpy::remainder(x, y)), ElementsAre(1, 7));
}

TEST(Division, OfFloats) {
  // As in Python: the quotient is rounded down, the remainder has the divisor's sign.
  const double cases[][4] = {{7, 2, 3, 1},
                             {-7, 2, -4, 1},
                             {7, -2, -4, -1},
                             {-7, -2, 3, -1},
                             {1, 0.1, 9, 0.09999999999999995},
                             {1, kInf, 0, 1},
                             {-1, kInf, -1, kInf},
                             {0, 5, 0, 0},
                             {5.5, 2.5, 2, 0.5}};
  for (const auto& [a, b, quotient, remainder] : cases) {
    const Array x = Array::scalar(a), y = Array::scalar(b);
    EXPECT_EQ(numpy::floor_divide(x, y).item<double>(), quotient) << a << " // " << b;
    EXPECT_DOUBLE_EQ(numpy::remainder(x, y).item<double>(), remainder) << a << " % " << b;
  }
  EXPECT_TRUE(std::isnan(numpy::remainder(Array::scalar(1.0), Array::scalar(0.0)).item<double>()));
  EXPECT_TRUE(std::isnan(numpy::floor_divide(Array::scalar(kNaN), 2).item<double>()));
}

TEST(Division, BroadcastsInBothPlaces) {
  const Array row = Array::of<int32_t>({-3, 3}), two = Array::scalar(2);
  EXPECT_THAT(values<int32_t>(numpy::floor_divide(row, two)), ElementsAre(-2, 1));
  EXPECT_THAT(values<int32_t>(numpy::floor_divide(two, row)), ElementsAre(-1, 0));
  EXPECT_THAT(values<int32_t>(numpy::remainder(row, two)), ElementsAre(1, 1));
  EXPECT_THAT(values<int32_t>(numpy::remainder(two, row)), ElementsAre(-1, 2));
  EXPECT_THAT(values<float>(numpy::floor_divide(numpy::astype(row, DType::kFloat32), 2.f)),
              ElementsAre(-2, 1));
  EXPECT_THAT(values<float>(numpy::remainder(2.f, numpy::astype(row, DType::kFloat32))),
              ElementsAre(-1, 2));
}

TEST(Division, TrueDivisionGivesFloats) {
  EXPECT_THAT(values<float>(Array::of<int32_t>({1, 3}) / Array::scalar(2)), ElementsAre(0.5, 1.5));
  EXPECT_THAT(values<double>(Array::of<double>({1}) / 4), ElementsAre(0.25));
}

TEST(Power, OfWholeNumbersOfTheHostLanguage) {
  EXPECT_THAT(values<int32_t>(numpy::power(counting({4}), 3)), ElementsAre(0, 1, 8, 27));
  EXPECT_THAT(values<float>(numpy::power(Array::of<float>({2, 4}), -1)), ElementsAre(0.5, 0.25));
  EXPECT_THAT(values<float>(numpy::power(Array::of<float>({4, 9}), 0.5)), ElementsAre(2, 3));
}

TEST(Numbers, PartsOfRealAndComplexOnes) {
  const Array x = Array::of<double>({1, kInf, kNaN});
  EXPECT_THAT(values<double>(numpy::imag(x)), ElementsAre(0, 0, 0));
  EXPECT_EQ(numpy::real(x).data(), x.data());
  const std::complex<float> number(3, -4);
  const Array z = Array::of<std::complex<float>>({number});
  EXPECT_THAT(values<float>(numpy::real(z)), ElementsAre(3));
  EXPECT_THAT(values<float>(numpy::imag(z)), ElementsAre(-4));
  EXPECT_THAT(values<float>(numpy::absolute(z)), ElementsAre(5));
  EXPECT_THAT(values<std::complex<float>>(numpy::conjugate(z)), ElementsAre(std::conj(number)));
}

TEST(Numbers, NotANumberAndInfinite) {
  const Array x = Array::of<double>({1, kInf, -kInf, kNaN});
  EXPECT_THAT(values<bool>(numpy::isnan(x)), ElementsAre(false, false, false, true));
  EXPECT_THAT(values<bool>(numpy::isinf(x)), ElementsAre(false, true, true, false));
  EXPECT_THAT(values<bool>(numpy::isfinite(x)), ElementsAre(true, false, false, false));
  EXPECT_THAT(values<bool>(numpy::isnan(counting({2}))), ElementsAre(false, false));
}

TEST(Numbers, ClipAndRound) {
  EXPECT_THAT(values<int32_t>(numpy::clip(counting({5}), 1, 3)), ElementsAre(1, 1, 2, 3, 3));
  EXPECT_THAT(values<int32_t>(numpy::clip(counting({3}), std::nullopt, 1)), ElementsAre(0, 1, 1));
  const Array x = Array::of<float>({-1.5, -0.5, 0.5, 1.5, 2.5});
  EXPECT_THAT(values<float>(numpy::rint(x)), ElementsAre(-2, -0.f, 0, 2, 2));
  EXPECT_THAT(values<float>(numpy::floor(x)), ElementsAre(-2, -1, 0, 1, 2));
  EXPECT_THAT(values<float>(numpy::ceil(x)), ElementsAre(-1, -0.f, 1, 2, 3));
  EXPECT_THAT(values<int32_t>(numpy::floor(counting({2}))), ElementsAre(0, 1));
}

TEST(Logic, OfNumbersAndBits) {
  const Array x = counting({3});
  EXPECT_THAT(values<bool>(numpy::logical_and(x, x > 1)), ElementsAre(false, false, true));
  EXPECT_THAT(values<bool>(numpy::logical_not(x)), ElementsAre(true, false, false));
  EXPECT_THAT(values<int32_t>(numpy::bitwise_xor(x, 3)), ElementsAre(3, 2, 1));
  EXPECT_THAT(values<int32_t>(numpy::right_shift(Array::of<int32_t>({-8}), 1)), ElementsAre(-4));
  EXPECT_THAT(values<uint8_t>(numpy::right_shift(Array::of<uint8_t>({248}), 1)), ElementsAre(124));
  EXPECT_THAT(values<int32_t>(numpy::left_shift(x, 2)), ElementsAre(0, 4, 8));
}

// ---- reductions ----

TEST(Reductions, AlongAxes) {
  const Array x = counting({2, 3});
  EXPECT_EQ(numpy::sum(x).item<int32_t>(), 15);
  EXPECT_THAT(values<int32_t>(numpy::sum(x, Axes{{0}})), ElementsAre(3, 5, 7));
  EXPECT_THAT(values<int32_t>(numpy::sum(x, Axes{{-1}})), ElementsAre(3, 12));
  EXPECT_THAT(shape(numpy::sum(x, Axes{{1}}, /*keepdims=*/true)), ElementsAre(2, 1));
  EXPECT_THAT(shape(numpy::sum(x, Axes(), /*keepdims=*/true)), ElementsAre(1, 1));
  EXPECT_THAT(values<int32_t>(numpy::sum(x, Axes{Sizes{}})), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(numpy::prod(x + 1).item<int32_t>(), 720);
  EXPECT_THAT(values<int32_t>(numpy::max(x, Axes{{1}})), ElementsAre(2, 5));
  EXPECT_THAT(values<int32_t>(numpy::min(x, Axes{{0}})), ElementsAre(0, 1, 2));
  EXPECT_FALSE(numpy::all(x).item<bool>());
  EXPECT_TRUE(numpy::any(x).item<bool>());
}

TEST(Reductions, SumsOfNarrowIntegersHaveRoom) {
  EXPECT_EQ(numpy::sum(Array::of<int8_t>({100, 100})).item<int32_t>(), 200);
  EXPECT_EQ(numpy::sum(Array::of<uint8_t>({200, 100})).item<uint32_t>(), 300u);
  EXPECT_EQ(numpy::sum(Array::of<bool>({true, true})).item<int32_t>(), 2);
  EXPECT_EQ(numpy::sum(Array::of<int64_t>({1})).dtype(), DType::kInt64);
}

TEST(Reductions, MeansAndVariances) {
  const Array x = counting({2, 3});
  EXPECT_THAT(values<float>(numpy::mean(x, Axes{{1}})), ElementsAre(1, 4));
  EXPECT_FLOAT_EQ(numpy::var(x).item<float>(), 35.f / 12);
  EXPECT_FLOAT_EQ(numpy::var(x, Axes(), false, 1).item<float>(), 3.5f);
  EXPECT_FLOAT_EQ(numpy::std(x, Axes{{1}}).values<float>()[0], std::sqrt(2.f / 3));
  EXPECT_TRUE(std::isnan(numpy::mean(numpy::zeros(Shape{0})).item<float>()));
}

TEST(Reductions, Positions) {
  const Array x = Array::of<float>({3, 9, 1, 9, 0, 2}, {2, 3});
  EXPECT_EQ(numpy::argmax(x).item<int32_t>(), 1);  // the first of equal elements
  EXPECT_EQ(numpy::argmin(x).item<int32_t>(), 4);
  EXPECT_THAT(values<int32_t>(numpy::argmax(x, 1)), ElementsAre(1, 0));
  EXPECT_THAT(values<int32_t>(numpy::argmin(x, -2)), ElementsAre(0, 1, 0));
  EXPECT_THAT(shape(numpy::argmax(x, 1, /*keepdims=*/true)), ElementsAre(2, 1));
  EXPECT_THAT(shape(numpy::argmax(x, {}, /*keepdims=*/true)), ElementsAre(1, 1));
}

TEST(Reductions, OfNothing) {
  const Array x = numpy::zeros(Shape{0, 2});
  EXPECT_THAT(values<float>(numpy::sum(x, Axes{{0}})), ElementsAre(0, 0));
  EXPECT_THAT(values<float>(numpy::prod(x, Axes{{0}})), ElementsAre(1, 1));
  EXPECT_TRUE(numpy::all(x).item<bool>());
  EXPECT_FALSE(numpy::any(x).item<bool>());
  EXPECT_EQ(numpy::sum(x, Axes{{1}}).size(), 0);
}

// ---- shapes ----

TEST(Shapes, Reshape) {
  const Array x = counting({2, 3});
  EXPECT_THAT(shape(numpy::reshape(x, Shape{-1})), ElementsAre(6));
  EXPECT_THAT(shape(numpy::reshape(x, Shape{3, -1})), ElementsAre(3, 2));
  EXPECT_THAT(shape(numpy::reshape(numpy::zeros(Shape{0}), Shape{-1, 3})), ElementsAre(0, 3));
  EXPECT_EQ(numpy::reshape(x, Shape{2, 3}).data(), x.data());
}

TEST(Shapes, TransposesAndMoves) {
  const Array x = counting({2, 3, 4});
  EXPECT_THAT(shape(numpy::transpose(x)), ElementsAre(4, 3, 2));
  EXPECT_THAT(shape(numpy::transpose(x, Axes{{1, -1, 0}})), ElementsAre(3, 4, 2));
  EXPECT_THAT(shape(numpy::swapaxes(x, 0, -1)), ElementsAre(4, 3, 2));
  EXPECT_THAT(shape(numpy::moveaxis(x, 0, -1)), ElementsAre(3, 4, 2));
  EXPECT_THAT(shape(numpy::moveaxis(x, -1, 0)), ElementsAre(4, 2, 3));
  EXPECT_THAT(values<int32_t>(numpy::transpose(counting({2, 3}))), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST(Shapes, DimensionsOfSizeOne) {
  const Array x = counting({2, 3});
  EXPECT_THAT(shape(numpy::expand_dims(x, Sizes{0, -1})), ElementsAre(1, 2, 3, 1));
  EXPECT_THAT(shape(numpy::squeeze(numpy::zeros(Shape{1, 2, 1}))), ElementsAre(2));
  EXPECT_THAT(shape(numpy::squeeze(numpy::zeros(Shape{1, 2, 1}), Axes{{0}})), ElementsAre(2, 1));
}

TEST(Shapes, JoinsAndFlips) {
  const Array a = counting({1, 2}), b = Array::of<float>({9, 8}, {1, 2});
  const Array parts[] = {a, b};
  EXPECT_THAT(values<float>(numpy::concatenate(parts)), ElementsAre(0, 1, 9, 8));
  EXPECT_THAT(shape(numpy::concatenate(parts, -1)), ElementsAre(1, 4));
  EXPECT_THAT(shape(numpy::stack(parts, 1)), ElementsAre(1, 2, 2));
  EXPECT_THAT(values<float>(numpy::stack(parts, -1)), ElementsAre(0, 9, 1, 8));
  EXPECT_THAT(values<int32_t>(numpy::flip(counting({2, 2}))), ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(values<int32_t>(numpy::flip(counting({2, 2}), Axes{{1}})), ElementsAre(1, 0, 3, 2));
}

TEST(Creation, OfArrays) {
  EXPECT_THAT(values<float>(numpy::ones(Shape{2})), ElementsAre(1, 1));
  EXPECT_THAT(values<bool>(numpy::zeros(Shape{2}, DType::kBool)), ElementsAre(false, false));
  EXPECT_THAT(values<int32_t>(numpy::full(Shape{2}, 7)), ElementsAre(7, 7));
  EXPECT_THAT(values<int32_t>(numpy::arange(2, 11, 3)), ElementsAre(2, 5, 8));
  EXPECT_THAT(values<int32_t>(numpy::arange(3, 0, -1)), ElementsAre(3, 2, 1));
  EXPECT_EQ(numpy::arange(3, 0).size(), 0);
  EXPECT_THAT(values<float>(numpy::eye(2, 3)), ElementsAre(1, 0, 0, 0, 1, 0));
  EXPECT_EQ(numpy::ones_like(Array::of<int8_t>({1})).dtype(), DType::kInt8);
}

// ---- products ----

TEST(Matmul, Shapes) {
  const auto product = [](const Shape& a, const Shape& b) {
    return shape(numpy::matmul(numpy::ones(a), numpy::ones(b)));
  };
  EXPECT_THAT(product({3}, {3}), ElementsAre());
  EXPECT_THAT(product({2, 3}, {3}), ElementsAre(2));
  EXPECT_THAT(product({3}, {3, 4}), ElementsAre(4));
  EXPECT_THAT(product({2, 3}, {3, 4}), ElementsAre(2, 4));
  EXPECT_THAT(product({5, 2, 3}, {3, 4}), ElementsAre(5, 2, 4));
  EXPECT_THAT(product({2, 3}, {5, 3, 4}), ElementsAre(5, 2, 4));
  EXPECT_THAT(product({6, 1, 2, 3}, {5, 3, 4}), ElementsAre(6, 5, 2, 4));
  EXPECT_THAT(product({3}, {5, 3, 4}), ElementsAre(5, 4));
  EXPECT_THAT(product({5, 2, 3}, {3}), ElementsAre(5, 2));
  EXPECT_THAT(product({0, 3}, {3, 4}), ElementsAre(0, 4));
}

TEST(Matmul, Values) {
  const Array a = counting({2, 3}), b = counting({3, 2});
  EXPECT_THAT(values<int32_t>(numpy::matmul(a, b)), ElementsAre(10, 13, 28, 40));
  EXPECT_THAT(values<float>(numpy::matmul(numpy::ones(Shape{2, 0}), numpy::ones(Shape{0, 1}))),
              ElementsAre(0, 0));
  const Array batch = numpy::matmul(counting({2, 1, 2}), counting({2, 2, 1}));
  EXPECT_THAT(values<int32_t>(batch), ElementsAre(1, 13));
  EXPECT_THAT(values<int32_t>(numpy::outer(counting({2}), counting({2, 1}) + 1)),
              ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(shape(numpy::dot(numpy::ones(Shape{2, 3}), numpy::ones(Shape{4, 3, 5}))),
              ElementsAre(2, 4, 5));
  EXPECT_THAT(values<int32_t>(numpy::dot(Array::scalar(2), counting({2}))), ElementsAre(0, 2));
}

// ---- indexing ----

// Python's slice(start, stop, step).indices(size), written as in its documentation.
std::vector<int32_t> python_slice(int64_t size, const Slice& slice) {
  const int64_t step = slice.step.value_or(1);
  const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
  const auto bound = [&](std::optional<int64_t> given, int64_t missing) {
    if (!given) return missing;
    int64_t value = *given;
    if (value < 0) value += size;
    return std::min(std::max(value, low), high);
  };
  const int64_t start = bound(slice.start, step < 0 ? high : low);
  const int64_t stop = bound(slice.stop, step < 0 ? low : high);
  std::vector<int32_t> result;
  if (step > 0) {
    for (int64_t i = start; i < stop; i += step) result.push_back(static_cast<int32_t>(i));
  } else {
    for (int64_t i = start; i > stop; i += step) result.push_back(static_cast<int32_t>(i));
  }
  return result;
}

TEST(Indexing, SlicesMeanWhatTheyMeanInPython) {
  for (const int64_t size : {0, 1, 2, 5}) {
    const Array x = numpy::arange(0, static_cast<double>(size));
    std::vector<std::optional<int64_t>> bounds = {std::nullopt};
    for (int64_t i = -size - 2; i <= size + 2; ++i) bounds.push_back(i);
    for (const auto& start : bounds) {
      for (const auto& stop : bounds) {
        for (const std::optional<int64_t> step :
             std::initializer_list<std::optional<int64_t>>{{}, 1, 2, 3, 7, -1, -2, -3, -7}) {
          const Slice slice{start, stop, step};
          const Index index[] = {slice};
          ASSERT_EQ(values<int32_t>(numpy::take(x, index)), python_slice(size, slice))
              << size << ": " << start.value_or(99) << ' ' << stop.value_or(99) << ' '
              << step.value_or(99);
        }
      }
    }
  }
}

TEST(Indexing, ExtremeSlices) {
  const int64_t most = std::numeric_limits<int64_t>::max(), least = -most - 1;
  const Array x = counting({5});
  const auto take = [&](Slice slice) {
    const Index index[] = {slice};
    return values<int32_t>(numpy::take(x, index));
  };
  EXPECT_THAT(take({{}, {}, most}), ElementsAre(0));
  EXPECT_THAT(take({{}, {}, least}), ElementsAre(4));
  EXPECT_THAT(take({least, most, 1}), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(take({most, least, -2}), ElementsAre(4, 2, 0));
}

TEST(Indexing, SeveralDimensions) {
  const Array x = counting({2, 3, 4});
  const auto take = [&](std::vector<Index> indices) { return numpy::take(x, indices); };
  EXPECT_EQ(take({int64_t{1}, int64_t{-1}, int64_t{0}}).item<int32_t>(), 20);
  EXPECT_THAT(shape(take({int64_t{1}})), ElementsAre(3, 4));
  EXPECT_THAT(shape(take({numpy::Ellipsis(), int64_t{0}})), ElementsAre(2, 3));
  EXPECT_THAT(shape(take({numpy::NewAxis(), numpy::Ellipsis(), numpy::NewAxis()})),
              ElementsAre(1, 2, 3, 4, 1));
  EXPECT_THAT(shape(take({Slice{}, numpy::NewAxis(), int64_t{0}, Slice{1, {}, 2}})),
              ElementsAre(2, 1, 2));
  EXPECT_THAT(values<int32_t>(take({int64_t{0}, Slice{{}, {}, -1}, int64_t{1}})),
              ElementsAre(9, 5, 1));
  EXPECT_EQ(take({}).data(), x.data());
  EXPECT_THAT(shape(take({Slice{5, {}, {}}})), ElementsAre(0, 3, 4));
}

}  // namespace
}  // namespace farcall
