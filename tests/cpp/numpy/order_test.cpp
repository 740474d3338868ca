// Sorting, neighbours, single elements and histograms, compared with closed forms.
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <vector>

#include <farcall/numpy/elementwise.h>
#include <farcall/numpy/histograms.h>
#include <farcall/numpy/order.h>
#include <farcall/numpy/polynomials.h>
#include <farcall/numpy/shapes.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/trace/record.h>

#include "rows.h"

namespace farcall {
namespace {

using testing::HasSubstr;

const double kNotANumber = std::numeric_limits<double>::quiet_NaN();
const double kInfinite = std::numeric_limits<double>::infinity();

TEST(Order, SortsByKeysAndBins) {
  const Array last = Array::of<int32_t>({1, 0, 1, 0}), first = Array::of<int32_t>({3, 9, 2, 1});
  const Array edges = Array::of<double>({0, 1, 2}), x = Array::of<double>({-1, 0, 1.5, 2});
  check({
      {"lexsort", numpy::lexsort({first, last}), {3, 1, 2, 0}},
      {"partition", numpy::partition(first, 1), {1, 2, 3, 9}},
      {"argpartition", numpy::argpartition(first, -1), {3, 2, 0, 1}},
      {"digitize", numpy::digitize(x, edges), {0, 1, 2, 3}},
      {"right", numpy::digitize(x, edges, true), {0, 0, 2, 2}},
      {"falling", numpy::digitize(x, numpy::flip(edges)), {3, 2, 1, 0}},
      {"isin",
       numpy::isin(first, numpy::reshape(Array::of<float>({9, 1, 0.5, 9}), {2, 2})),
       {0, 1, 0, 1}},
      {"not in", numpy::isin(first, last, true), {1, 1, 1, 0}},
      {"in none", numpy::isin(x, numpy::zeros({0})), {0, 0, 0, 0}},
      {"NaN", numpy::isin(Array(kNotANumber), Array(kNotANumber)), {0}},
  });
  EXPECT_THAT(message_of([&] { numpy::partition(x, 4); }),
              HasSubstr("partition: kth 4 is out of range for 4 elements"));
  EXPECT_THAT(message_of([] { numpy::lexsort({}); }), HasSubstr("lexsort: needs at least one key"));
}

TEST(Order, GivesSlopesAlongAxes) {
  const Array x = Array::of<int32_t>({0, 1, 4, 2, 5, 12}, {2, 3});
  const auto both = numpy::gradient(x);
  ASSERT_EQ(both.size(), 2U);
  const auto turned = numpy::gradient(x, {Array::of<double>({0, 1, 3}), Array(0.5)}, {1, 0});
  ASSERT_EQ(turned.size(), 2U);
  check({
      {"first", both[0], {2, 4, 8, 2, 4, 8}},
      {"last", both[1], {1, 2, 3, 3, 5, 7}},
      {"one distance",
       numpy::gradient(x, {Array(2)}, numpy::Axes{1})[0],
       {0.5, 1, 1.5, 1.5, 2.5, 3.5}},
      {"places", turned[0], {1, 7 / 6.0, 1.5, 3, 19 / 6.0, 3.5}},
      {"distance", turned[1], {4, 8, 16, 4, 8, 16}},
  });
  EXPECT_THAT(message_of([&] {
                numpy::gradient(x, {Array(1), Array(1), Array(1)});
              }),
              HasSubstr("gradient: takes 0, 1 or 2 distances, got 3"));
  EXPECT_THAT(message_of([&] {
                numpy::gradient(x, {}, {0, -2});
              }),
              HasSubstr("gradient: an axis is named twice"));
}

TEST(Order, ComparesNeighbours) {
  const Array x = Array::of<double>({1, 4, 9, 16}), flags = Array::of<bool>({true, false, false});
  const Array angles = Array::of<double>({0, 3, 6, 9});
  const double turn = 2 * std::numbers::pi;
  check(
      {
          {"diff", numpy::diff(x), {3, 5, 7}},
          {"twice", numpy::diff(x, {.order = 2, .prepend = Array(0)}), {2, 2, 2}},
          {"of bools", numpy::diff(flags), {1, 0}},
          {"ediff1d", numpy::ediff1d(x, Array(7), Array(9)), {9, 3, 5, 7, 7}},
          {"trapezoid", numpy::trapezoid(x), {21.5}},
          {"at places", numpy::trapezoid(x, Array::of<double>({0, 2, 4, 6})), {43}},
          {"nancumsum", numpy::nancumsum(Array::of<double>({1, kNotANumber, 2})), {1, 1, 3}},
          {"cumulative_prod",
           numpy::cumulative_prod(x, {.include_initial = true}),
           {1, 1, 4, 36, 576}},
          {"unwrap", numpy::unwrap(numpy::remainder(angles, turn)), {0, 3, 6, 9}},
          {"of integers", numpy::unwrap(Array::of<int32_t>({0, 3, 2}), {.period = 4}), {0, -1, -2}},
      },
      1e-12);
  EXPECT_THAT(message_of([&] { numpy::diff(x, {.order = -1}); }),
              HasSubstr("diff: n must lie in [0, 2147483647], got -1"));
  EXPECT_THAT(message_of([] {
                numpy::cumulative_sum(numpy::ones({2, 2}));
              }),
              HasSubstr("cumulative_sum: axis must be given for an array of rank 2"));
}

TEST(Elements, AreRoundedTakenApartAndReplaced) {
  const Array x = Array::of<double>({-1.25, 2.35, -0.0, kInfinite, kNotANumber});
  const double most = std::numeric_limits<double>::max();
  const auto [fraction, whole] = numpy::modf(x);
  check({
      {"round", numpy::round(x, 1), {-1.2, 2.4, 0, kInfinite, kNotANumber}},
      {"trunc", numpy::trunc(x), {-1, 2, 0, kInfinite, kNotANumber}},
      {"whole", whole, {-1, 2, 0, kInfinite, kNotANumber}},
      {"nan_to_num", numpy::nan_to_num(x, {.nan = 7}), {-1.25, 2.35, 0, most, 7}},
      {"signbit", numpy::signbit(x), {1, 0, 1, 0, 0}},
      {"copysign", numpy::copysign(2, x), {-2, 2, -2, 2, 2}},
      {"heaviside", numpy::heaviside(x, 0.5), {0, 1, 0.5, 1, kNotANumber}},
      {"fmod", numpy::fmod(Array::of<int32_t>({-7, 7}), Array::of<int32_t>({3, 0})), {-1, 0}},
      {"ldexp", numpy::ldexp(Array::of<double>({3}), 1000), {std::ldexp(3.0, 1000)}},
      {"isclose", numpy::isclose(x, x + 1e-9, {.equal_nan = true}), {1, 1, 1, 1, 1}},
      {"bitwise_count", numpy::bitwise_count(Array::of<int8_t>({-7, 127})), {3, 7}},
      {"select", numpy::select({x > 2, x < 0}, {x, x * 2}, -1), {-2.5, 2.35, -1, kInfinite, -1}},
  });
  check({{"fraction", fraction, {-0.25, 0.35, 0, 0, kNotANumber}}}, 1e-15);
  EXPECT_TRUE(std::signbit(fraction.values<double>()[2]));
  for (const auto& [dtype, largest] :
       {std::pair(DType::kFloat16, 65504.0), std::pair(DType::kFloat8E4M3FN, 448.0),
        std::pair(DType::kFloat8E5M2, 57344.0)}) {
    const Array huge = numpy::astype(Array::of<double>({kInfinite}), dtype);
    if (doubles(numpy::isinf(huge))[0] == 0) continue;  // a dtype without infinities
    check({{"largest", numpy::nan_to_num(huge), {largest}}});
  }
  EXPECT_THAT(message_of([&] { numpy::round(x, 400); }),
              HasSubstr("round: decimals must lie in [-308, 308] for float64, got 400"));
  EXPECT_THAT(message_of([&] { numpy::select({x > 2}, {}); }),
              HasSubstr("select: needs as many conditions as choices, got 1 and 0"));
}

TEST(Elements, AreFractionsTimesPowersOfTwo) {
  const Array numbers = Array::of<double>(
      {0, -0.0, 1, -3, 0.75, 6e-324, 1e-310, 1e-45, kNotANumber, -kInfinite, 1.7e+308, -1e-40});
  for (const DType dtype : {DType::kFloat64, DType::kFloat32, DType::kFloat16, DType::kBFloat16,
                            DType::kFloat8E4M3FN, DType::kFloat8E5M2FNUZ}) {
    const Array x = numpy::astype(numbers, dtype);
    const auto [fraction, exponent] = numpy::frexp(x);
    EXPECT_EQ(fraction.dtype(), dtype);
    EXPECT_EQ(exponent.dtype(), DType::kInt32);
    const Array wide = numpy::astype(x, DType::kFloat64);
    std::vector<double> fractions, exponents;
    for (const double number : wide.values<double>()) {
      int power = 0;
      fractions.push_back(std::frexp(number, &power));
      exponents.push_back(std::isfinite(number) ? power : 0);
    }
    check({{"fraction", fraction, fractions}, {"exponent", exponent, exponents}});
  }
  EXPECT_THAT(message_of([] { numpy::frexp(Array::of<std::complex<float>>({1})); }),
              HasSubstr("frexp: takes real numbers, got complex64"));
}

TEST(Elements, AreBits) {
  using numpy::BitOrder;
  const Array bits = Array::of<bool>({true, false, false, false, false, false, false, false, true});
  check({
      {"big", numpy::packbits(bits), {128, 128}},
      {"little", numpy::packbits(bits, 0, BitOrder::kLittle), {1, 1}},
      {"back", numpy::unpackbits(numpy::packbits(bits), {}, 9), {1, 0, 0, 0, 0, 0, 0, 0, 1}},
      {"less", numpy::unpackbits(Array::of<uint8_t>({5}), {}, -5, BitOrder::kLittle), {1, 0, 1}},
  });
  EXPECT_THAT(message_of([] { numpy::unpackbits(Array::of<int32_t>({1})); }),
              HasSubstr("unpackbits: expected uint8, got int32"));
}

TEST(Shapes, AreChangedAndPutTogether) {
  using numpy::ElementOrder;
  const Array m = Array::of<double>({1, 2, 3, 4, 5, 6}, {2, 3}), v = Array::of<double>({7, 8});
  const auto shape_of = [](const Array& x) { return shape_to_string(x.shape()); };
  check({
      {"reshape", numpy::reshape(m, {3, 2}, ElementOrder::kFirstFastest), {1, 5, 4, 3, 2, 6}},
      {"ravel", numpy::ravel(m, ElementOrder::kFirstFastest), {1, 4, 2, 5, 3, 6}},
      {"rot90", numpy::rot90(m), {3, 6, 2, 5, 1, 4}},
      {"back", numpy::rot90(m, -1), {4, 1, 5, 2, 6, 3}},
      {"concatenate",
       numpy::concatenate({m, v}, std::nullopt, DType::kInt32),
       {1, 2, 3, 4, 5, 6, 7, 8}},
      {"hstack", numpy::hstack({v, v}), {7, 8, 7, 8}},
      {"vstack", numpy::vstack({v, v}), {7, 8, 7, 8}},
      {"column_stack", numpy::column_stack({v, v}), {7, 7, 8, 8}},
      {"second part", numpy::array_split(m, 2, 1)[1], {3, 6}},
  });
  const Array x = numpy::zeros({2, 3, 4, 5});
  EXPECT_EQ(shape_of(numpy::moveaxis(x, {0, 1}, {-1, 0})), "[3,4,5,2]");
  EXPECT_EQ(shape_of(numpy::rollaxis(x, 3, 1)), "[2,5,3,4]");
  EXPECT_EQ(shape_of(numpy::dstack({v, v})), "[1,2,2]");
  EXPECT_EQ(shape_of(numpy::atleast_3d(m)), "[2,3,1]");
  EXPECT_THAT(message_of([&] {
                numpy::moveaxis(x, {0, 1}, {2});
              }),
              HasSubstr("moveaxis: source and destination differ in number: [0,1] and [2]"));
  EXPECT_THAT(message_of([&] { numpy::array_split(x, 0); }),
              HasSubstr("array_split: the number of parts must be positive, got 0"));
}

TEST(Histograms, CountWhatLiesInBins) {
  const Array x = Array::of<double>({0, 1, 1, 2, 4}), edges = Array::of<double>({0, 1, 3});
  const Array points = Array::of<double>({0, 0, 1, 1, 1, 0}, {3, 2});
  const numpy::Bins two[] = {2, 2};
  check({
      {"bincount", numpy::bincount(Array::of<int32_t>({1, 3, 1, -2})), {1, 2, 0, 1}},
      {"weights",
       numpy::bincount(Array::of<int32_t>({1, 5}), {.weights = numpy::ones({2}) * 3, .length = 2}),
       {0, 3}},
      {"counts", numpy::histogram(x, 4).counts, {1, 2, 1, 1}},
      {"edges", numpy::histogram(x, 4).edges[0], {0, 1, 2, 3, 4}},
      {"between edges", numpy::histogram(x, edges).counts, {1, 3}},
      {"density", numpy::histogram(x, edges, {}, {.density = true}).counts, {0.25, 0.375}},
      {"in a range", numpy::histogram(x, 2, std::pair(Array(0), Array(2))).counts, {1, 3}},
      {"of points", numpy::histogramdd(points, two).counts, {1, 0, 1, 1}},
  });
  const ShapeDtype traced = ShapeDtype(DType::kInt32, {3});
  EXPECT_THAT(
      message_of([&] {
        record([](std::span<const Array> x) { return std::vector{numpy::bincount(x[0])}; },
               {&traced, 1});
      }),
      HasSubstr("bincount: the length of the result depends on the values of a traced array"));
  EXPECT_THAT(message_of([&] {
                numpy::histogramdd(points, {two, 1});
              }),
              HasSubstr("histogramdd: bins has 1 entries and range 0 for points of 2 numbers"));
}

TEST(Polynomials, AreDividedSolvedAndFitted) {
  const Array cubic = Array::of<double>({1, -6, 11, -6}), line = Array::of<double>({1, -1});
  const auto [quotient, remainder] = numpy::polydiv(cubic, line);
  const Array x = Array::of<double>({0, 1, 2, 3}), y = Array::of<double>({1, 3, 5, 7});
  const numpy::Polyfit fit =
      numpy::polyfit(x, y, 1, {.covariance = numpy::PolyfitCovariance::kUnscaled});
  check(
      {
          {"polymul", numpy::polymul(line, line), {1, -2, 1}},
          {"trimmed", numpy::polymul(Array::of<double>({0, 0, 2}), line, true), {2, -2}},
          {"quotient", quotient, {1, -5, 6}},
          {"remainder", remainder, {0, 0, 0, 0}},
          {"roots", numpy::sort(numpy::real(numpy::roots(cubic))), {1, 2, 3}},
          {"zeros behind", numpy::real(numpy::roots(Array::of<double>({0, 1, -2, 0}))), {2, 0}},
          {"polyfit", fit.coefficients, {2, 1}},
          {"covariance", fit.covariance, {0.2, -0.3, -0.3, 0.7}},
      },
      1e-10);
  const ShapeDtype traced = ShapeDtype(DType::kFloat32, {3});
  EXPECT_THAT(
      message_of([&] {
        record([](std::span<const Array> p) { return std::vector{numpy::roots(p[0])}; },
               {&traced, 1});
      }),
      HasSubstr("roots: which coefficients are zero depends on the values of a traced f32[3]"));
}

}  // namespace
}  // namespace farcall
