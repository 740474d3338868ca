// Indices, padding, and functions based on convolutions and reductions, compared with closed forms.
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <farcall/numpy/matrices.h>
#include <farcall/numpy/places.h>
#include <farcall/numpy/shapes.h>
#include <farcall/ops/convolution.h>
#include <farcall/ops/cumulative.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/numpy_indexing.h>
#include <farcall/ops/products.h>
#include <farcall/ops/reduce.h>
#include <farcall/ops/reduce_window.h>
#include <farcall/ops/structure.h>
#include <farcall/trace/jit.h>

#include "rows.h"

namespace farcall {
namespace {

using numpy::Outside;
using testing::HasSubstr;

Shape shape_of(const Array& x) { return {x.shape().begin(), x.shape().end()}; }

const Array kX = Array::of<double>({3, 0, 5, 0});
const Array kCounted = numpy::reshape(numpy::arange(0, 6), {2, 3});

TEST(Places, OfElementsThatAreNotZero) {
  const Array flags = Array::of<bool>({true, false, true});
  check({
      {"argwhere", numpy::argwhere(numpy::reshape(kX, {2, 2})), {0, 0, 1, 0}},
      {"of so many", numpy::argwhere(kX, {.size = 3, .fill_values = {-1}}), {0, 2, -1}},
      {"of a scalar", numpy::argwhere(Array(7)), {}},
      {"flatnonzero", numpy::flatnonzero(numpy::reshape(kX, {2, 2})), {0, 2}},
      {"compress", numpy::compress(flags, kCounted, 1), {0, 2, 3, 5}},
      {"the first of them", numpy::compress(flags, kX, {}, {.size = 1}), {3}},
      {"more than there are", numpy::compress(flags, kX, {}, {3, -1}), {3, 5, -1}},
      {"extract", numpy::extract(numpy::greater(kCounted, 3), kCounted), {4, 5}},
  });
  EXPECT_EQ(numpy::argwhere(Array(7)).type().to_string(), "i32[1,0]");
  EXPECT_THAT(message_of([&] {
                numpy::compress(Array::of<bool>({0, 0, 0, 0, 1}), kX);
              }),
              HasSubstr("compress: the condition has 5 entries, dimension 0 has 4"));
  EXPECT_THAT(message_of([&] { jit([](const Array& x) { return numpy::compress(x, x); })(kX); }),
              HasSubstr("size"));
}

TEST(Places, OfDistinctElements) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Array x = Array::of<double>({2, nan, 1, 2, nan});
  const numpy::Distinct found = numpy::unique(x, 4);
  check({
      {"values", found.values, {1, 2, nan, 1}},
      {"index", found.index, {2, 0, 1, 2}},
      {"inverse", found.inverse, {1, 2, 0, 1, 2}},
      {"counts", found.counts, {1, 2, 2, 0}},
      {"NaNs apart", numpy::unique(x, 4, {}, false).counts, {1, 2, 1, 1}},
      {"filled", numpy::unique(x, 4, Array(9)).values, {1, 2, nan, 9}},
      {"of none", numpy::unique(numpy::zeros({0}), 2, Array(3)).values, {3, 3}},
  });
  EXPECT_THAT(message_of([&] { numpy::unique(x, -1); }), HasSubstr("must not be negative"));
}

TEST(Places, OfSetsOfAKnownSize) {
  const Array x = Array::of<int32_t>({3, 1, 2, 3, 7}), y = Array::of<int32_t>({2, 7, 7, 5});
  const numpy::Intersection common = numpy::intersect1d(x, y, {.size = 3});
  check({
      {"left", numpy::setdiff1d(x, y, {.size = 3}), {1, 3, 0}},
      {"in order", numpy::setdiff1d(x, y, {.size = 3, .assume_unique = true}), {3, 1, 3}},
      {"in one", numpy::setxor1d(x, y, {.size = 4, .fill_value = Array(9)}), {1, 3, 5, 9}},
      {"in both", common.values, {2, 7, 2}},
      {"first", common.first, {2, 4, 5}},
      {"second", common.second, {0, 1, 4}},
  });
}

TEST(Places, AsIndices) {
  const std::vector<Array> crossed =
      numpy::ix_({Array::of<int32_t>({1, 0}), Array::of<bool>({true, false, true})});
  const std::vector<Array> places = numpy::unravel_index(Array::of<int32_t>({5, -1, 99}), {2, 3});
  const numpy::RavelIndexOptions wrapped = {.outside = Outside::kWrap};
  check({
      {"ix_", numpy::take(kCounted, {crossed[0], crossed[1]}), {3, 5, 0, 2}},
      {"diagonal", numpy::diag_indices(3, 2)[1], {0, 1, 2}},
      {"below", numpy::tril_indices_from(kCounted).second, {0, 0, 1}},
      {"rows", places[0], {1, 1, 1}},
      {"columns", places[1], {2, 2, 2}},
      {"ravelled", numpy::ravel_multi_index({1, 2}, {2, 3}), {5}},
      {"columns first", numpy::ravel_multi_index({1, 2}, {2, 3}, {.first_fastest = true}), {5}},
      {"wrapped", numpy::ravel_multi_index({3, -1}, {2, 3}, wrapped), {5}},
  });
  EXPECT_THAT(message_of([] {
                numpy::ravel_multi_index({2, 0}, {2, 3});
              }),
              HasSubstr("index 2 is out of range [0, 2)"));
  EXPECT_THAT(message_of([] { numpy::unravel_index(Array(1.5), {2}); }),
              HasSubstr("must be integers"));
  EXPECT_THAT(message_of([] { numpy::diag_indices_from(kCounted); }),
              HasSubstr("of the same size"));
}

TEST(Places, GetOtherElements) {
  const Array which = Array::of<int32_t>({1, 0, 2});
  const Array square = numpy::zeros({2, 2}, DType::kInt32);
  const Array tall = numpy::zeros({5, 2}, DType::kInt32);
  const Array mask = numpy::greater(kX, 1);
  check({
      {"choose", numpy::choose(which, {10, Array::of<int32_t>({1, 2, 3}), 30}), {1, 10, 30}},
      {"wrapped", numpy::choose(Array::of<int32_t>({-1, 2}), {5, 6}, Outside::kWrap), {6, 5}},
      {"diagonal", numpy::fill_diagonal(square, Array::of<int32_t>({1, 2})), {1, 0, 0, 2}},
      {"of a tall one", numpy::fill_diagonal(tall, 1), {1, 0, 0, 1, 0, 0, 0, 0, 0, 0}},
      {"again below", numpy::fill_diagonal(tall, 1, true), {1, 0, 0, 1, 0, 0, 1, 0, 0, 1}},
      {"place", numpy::place(kX, mask, Array::of<double>({7, 8, 9})), {7, 0, 8, 0}},
      {"put",
       numpy::put(kX, Array::of<int32_t>({-1, 1, 9}), Array::of<double>({7, 8})),
       {3, 8, 5, 7}},
      {"clipped", numpy::put(kX, Array::of<int32_t>({9}), 1, Outside::kClip), {3, 0, 5, 1}},
  });
  EXPECT_THAT(message_of([&] {
                numpy::choose(which, {1, 2});
              }),
              HasSubstr("index 2 is out of range [0, 2)"));
  EXPECT_THAT(message_of([&] { numpy::place(kX, Array(true), 1); }),
              HasSubstr("as many elements as the array"));
}

TEST(Places, GetMoreAndFewerElements) {
  const Array counts = Array::of<int32_t>({2, 0, 1, 1});
  const Array rows = Array::of<int32_t>({7, 8});
  check({
      {"delete", numpy::delete_(kX, {1, -1, 1}), {3, 5}},
      {"columns", numpy::delete_(kCounted, {0}, 1), {1, 2, 4, 5}},
      {"insert", numpy::insert(kX, {2, 0, 2}, Array::of<double>({1, 2, 4})), {2, 3, 0, 1, 4, 5, 0}},
      {"a column", numpy::insert_block(kCounted, 1, rows, 1), {0, 7, 1, 2, 3, 8, 4, 5}},
      {"resize", numpy::resize(kCounted, {4, 2}), {0, 1, 2, 3, 4, 5, 0, 1}},
      {"repeat", numpy::repeat(kX, counts), {3, 3, 5, 0}},
      {"cut", numpy::repeat(kX, counts, 0, 3), {3, 3, 5}},
      {"filled", numpy::repeat(kX, counts, 0, 6), {3, 3, 5, 0, 0, 0}},
      {"when run",
       jit([&](const Array& n) { return numpy::repeat(kX, n, 0, 6); })(counts),
       {3, 3, 5, 0, 0, 0}},
      {"unstack", numpy::unstack(kCounted, 1)[2], {2, 5}},
      {"broadcast", numpy::broadcast_arrays({rows, numpy::reshape(rows, {2, 1})})[1], {7, 7, 8, 8}},
  });
  EXPECT_THAT(message_of([] { numpy::delete_(kX, {4}); }), HasSubstr("index 4 is out of range"));
  EXPECT_THAT(message_of([&] {
                numpy::repeat(kX, Array::of<int32_t>({1, -1, 1, 1}));
              }),
              HasSubstr("must not be negative"));
  EXPECT_THAT(
      message_of([&] { jit([](const Array& n) { return numpy::repeat(kX, n, 0); })(counts); }),
      HasSubstr("total_repeat_length"));
}

TEST(Padding, TakesStatisticsAndRamps) {
  const numpy::PadWidths one = {{1, 2}};
  const Array whole = Array::of<int32_t>({1, 2, 4});
  check({
      {"constants", numpy::pad(kX, one, numpy::PadValues{{7, 8}}), {7, 3, 0, 5, 0, 8, 8}},
      {"ramp", numpy::pad_ramp(kX, {{3, 2}}, {{0, 4}}), {0, 1, 2, 3, 0, 5, 0, 2, 4}},
      {"maximum", numpy::pad(kX, one, numpy::PadStatistic::kMaximum), {5, 3, 0, 5, 0, 5, 5}},
      {"at the ends",
       numpy::pad(kX, one, numpy::PadStatistic::kMinimum, {{1, 2}}),
       {3, 3, 0, 5, 0, 0, 0}},
      {"mean", numpy::pad(whole, {{1, 0}}, numpy::PadStatistic::kMean), {2, 1, 2, 4}},
  });
  EXPECT_THAT(message_of([&] {
                numpy::pad(kX, one, numpy::PadStatistic::kMean, {{0, 1}});
              }),
              HasSubstr("lengths must be positive"));
}

// One channel; batch and features first.
Array signal(std::initializer_list<double> values) {
  const auto count = static_cast<int64_t>(values.size());
  return Array::of(values, {1, 1, count});
}

TEST(Convolutions, TakeWordsForPaddings) {
  using lax::PaddingKind;
  const Array x = signal({1, 2, 3, 4}), ones = signal({1, 1});
  const lax::ConvTransposeOptions first = {.specs = lax::conv_specs("NCH", "OIH", "NCH")};
  check({
      {"same", lax::conv_general_dilated(x, ones, PaddingKind::kSame), {3, 5, 7, 4}},
      {"lower", lax::conv_general_dilated(x, ones, PaddingKind::kSameLower), {1, 3, 5, 7}},
      {"valid", lax::conv_general_dilated(x, ones, PaddingKind::kValid), {3, 5, 7}},
      {"transposed",
       lax::conv_transpose(x, ones, {2}, PaddingKind::kValid, first),
       {1, 1, 2, 2, 3, 3, 4, 4}},
      {"patches",
       lax::conv_general_dilated_patches(x, {2}, {.padding = {{0, 0}}}),
       {1, 2, 3, 2, 3, 4}},
      {"weights of their own",
       lax::conv_general_dilated_local(
           x, numpy::reshape(numpy::arange(0, 6, 1, DType::kFloat64), {1, 2, 3}), {2}),
       {0 * 1 + 3 * 2, 1 * 2 + 4 * 3, 2 * 3 + 5 * 4}},
  });
  EXPECT_EQ(lax::conv_specs("NHWC", "HWIO", "NHWC").rhs, (std::vector<int64_t>{3, 2, 0, 1}));
  EXPECT_THAT(message_of([] { lax::conv_specs("NCC", "OIH", "NCH"); }),
              HasSubstr("'NCC' must have each of 'NCH' once"));
  EXPECT_THAT(message_of([&] {
                lax::conv_transpose(x, ones, {2, 2}, PaddingKind::kSame);
              }),
              HasSubstr("as many strides"));
}

TEST(Reductions, ByAnyFunction) {
  // The greatest element and its position.
  const auto later_maximum = [](std::span<const Array> a, std::span<const Array> b) {
    const Array takes_b = numpy::greater_equal(b[0], a[0]);
    return std::vector<Array>{numpy::where(takes_b, b[0], a[0]), numpy::where(takes_b, b[1], a[1])};
  };
  const Array x = numpy::reshape(Array::of<float>({1, 5, 5, 4, 2, 0}), {2, 3});
  const Array places = lax::iota(DType::kInt32, {2, 3}, 1);
  const std::vector<Array> found = lax::reduce({x, places}, {-1, -1}, later_maximum, {1});
  const Array rows = numpy::reshape(numpy::arange(0, 6, 1, DType::kFloat32), {3, 2});
  const Array matrices = numpy::stack({numpy::eye(2), numpy::full({2, 2}, 10, DType::kFloat32)});
  check({
      {"values", found[0], {5, 4}},
      {"places", found[1], {2, 0}},
      {"of none",
       lax::reduce({numpy::zeros({0, 2})}, {7},
                   [](auto a, auto b) { return std::vector<Array>{a[0] + b[0]}; }, {0})[0],
       {7, 7}},
      {"rows in groups",
       lax::ragged_dot(rows, matrices, Array::of<int32_t>({1, 1})),
       {0, 1, 50, 50, 0, 0}},
  });
  const lax::Combine greater = [](auto a, auto b) {
    return std::vector<Array>{numpy::maximum(a[0], b[0])};
  };
  const Array line = Array::of<float>({3, 1, 4, 1, 5});
  const ReduceWindowParams pairs = {
      .padding = {{1, 0}}, .window_dimensions = {2}, .window_strides = {2}};
  check({
      {"windows by a function", lax::reduce_window({line}, {-9.0F}, greater, pairs)[0], {3, 4, 5}},
      {"windows", lax::reduce_window(line, -9.0F, lax::WindowReduction::kMax, pairs), {3, 4, 5}},
      {"and a scalar",
       lax::reduce_window(line, 4.5F, lax::WindowReduction::kMax, pairs),
       {4.5, 4.5, 5}},
      {"added to one",
       lax::reduce_window(line, 1.0F, lax::WindowReduction::kSum, pairs),
       {4, 6, 7}},
  });
  EXPECT_EQ(lax::reduce_window_shape({5}, pairs), (Shape{3}));
  EXPECT_EQ(lax::padding_for(lax::PaddingKind::kSame, {5}, pairs), (Padding{{0, 1}}));
  const auto wider = [](std::span<const Array> a, std::span<const Array>) {
    return std::vector<Array>{numpy::astype(a[0], DType::kFloat64)};
  };
  EXPECT_THAT(message_of([&] { lax::reduce({x}, {0}, wider, {0}); }), HasSubstr("as it takes"));
  EXPECT_THAT(message_of([&] { lax::reduce({x}, {0}, wider, {2}); }),
              HasSubstr("must be distinct dimensions"));
}

TEST(Structure, OfStrictFunctions) {
  check({
      {"broadcast", lax::broadcast(Array::of<int32_t>({1, 2}), {2}), {1, 2, 1, 2}},
      {"tile", lax::tile(kCounted, {1, 2}), {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}},
      {"split", lax::split(kCounted, {1, 2}, -1)[1], {1, 2, 4, 5}},
      {"slices at indices",
       lax::index_take(kCounted, {Array::of<int32_t>({2, 0, 2})}, {1}),
       {2, 5, 0, 3, 2, 5}},
      {"sizes of 1",
       lax::add(kCounted, Array::of<int32_t>({10, 20}, {2, 1})),
       {10, 11, 12, 23, 24, 25}},
      {"extreme of complex numbers", lax::real(lax::reduce_max(lax::complex(kX, kX), {0})), {5}},
      {"dot", lax::dot(kCounted, Array::of<int32_t>({1, 0, 1})), {2, 8}},
      {"stacked matrices",
       lax::batch_matmul(lax::broadcast(kCounted, {2}), numpy::ones({2, 3, 1}, DType::kInt32)),
       {3, 12, 3, 12}},
      {"least", lax::approx_min_k(kX, 2).values, {0, 0}},
      {"where they are", lax::approx_min_k(kX, 2).indices, {1, 3}},
      {"greatest", lax::approx_max_k(kX, 1, 0).values, {5}},
  });
  EXPECT_EQ(lax::broadcast_to_rank(kCounted, 4).type().to_string(), "i32[1,1,2,3]");
  EXPECT_EQ(lax::collapse(numpy::zeros({2, 3, 4}), 1).type().to_string(), "f32[2,12]");
  EXPECT_EQ(lax::collapse(numpy::zeros({2, 3, 4}), 0, -1).type().to_string(), "f32[6,4]");
  const std::pair<std::function<void()>, const char*> refused[] = {
      {[] { lax::broadcast(kX, {-1}); }, "sizes [-1] must not be negative"},
      {[] { lax::broadcast_to_rank(kCounted, 1); }, "has more than 1 dimensions"},
      {[] { lax::collapse(kCounted, 2, 1); }, "collapse: start 2 is after stop 1"},
      {[] { lax::tile(kCounted, {2}); },
       "tile: repeats must have one entry for each dimension of i32[2,3], got 1"},
      {[] {
         lax::split(kCounted, {1, 1}, 1);
       },
       "do not add up to 3, the size of axis 1"},
      {[] { lax::split(kCounted, {1}, 2); }, "split: axis 2"},
      {[] {
         lax::index_take(kCounted, {kX, kX}, {1});
       },
       "needs a vector of indices for each axis"},
      {[] {
         lax::index_take(kCounted, {kX, kX}, {1, -1});
       },
       "contain a dimension twice"},
      {[] { lax::batch_matmul(kX, kX); }, "needs stacked matrices of one rank"},
      {[] { lax::approx_max_k(kCounted, 1); }, "operand must be floats, got i32[2,3]"},
      {[] { lax::approx_max_k(kX, 1, 0, 1.5); }, "recall_target must lie in (0, 1], got 1.5"},
  };
  for (const auto& [call, message] : refused) EXPECT_THAT(message_of(call), HasSubstr(message));
  EXPECT_THROW(lax::dot(numpy::zeros({1, 1, 1}), kX), TypeError);
}

TEST(Structure, OfConvolutionsBeforeTheyRun) {
  const ConvParams params = {.padding = {{1, 0}}, .window_strides = {2}};
  const Array image = numpy::zeros({2, 3, 9}), weights = numpy::zeros({4, 3, 2});
  EXPECT_EQ(lax::conv_general_dilated_shape({2, 3, 9}, {4, 3, 2}, params),
            shape_of(lax::conv_general_dilated(image, weights, params)));
  const lax::ConvTransposeOptions options = {.specs = lax::conv_specs("NCH", "OIH", "NCH")};
  for (const auto kind : {lax::PaddingKind::kSame, lax::PaddingKind::kValid}) {
    EXPECT_EQ(lax::conv_transpose_shape({2, 3, 9}, {4, 3, 2}, {3}, kind, options),
              shape_of(lax::conv_transpose(image, weights, {3}, kind, options)));
  }
  EXPECT_THAT(message_of([] {
                lax::conv_general_dilated_shape({2, 3, 9}, {4, 5, 2});
              }),
              HasSubstr("features"));
  EXPECT_EQ(lax::conv_shape_tuple({2, 3, 9}, {4, 5, 2}, params), (Shape{2, 4, 5}));
  EXPECT_EQ(lax::conv_shape_tuple({2, 3, 9}, {4, 5, 2}, lax::PaddingKind::kSame), (Shape{2, 4, 9}));
}

}  // namespace
}  // namespace farcall
