// numpy's functions for sorting, splitting and products from C++, and their errors.
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/numpy_indexing.h>

#include <gtest/gtest.h>

#include <farcall/ops/convolution.h>
#include <farcall/ops/cumulative.h>
#include <farcall/ops/fft.h>
#include <farcall/ops/reduce_window.h>

#include "arrays.h"

namespace farcall {
namespace {

using testing::error_of;

const Array kMatrix = Array::of<float>({3, 1, 2, 6, 5, 4}, {2, 3});

TEST(NumpyOrder, SortsAndSums) {
  EXPECT_EQ(numpy::sort(kMatrix).to_string(), "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]");
  EXPECT_EQ(numpy::argsort(kMatrix, -1, /*descending=*/true).to_string(), "[[0, 2, 1], [0, 1, 2]]");
  EXPECT_EQ(numpy::cumsum(kMatrix, 0).to_string(), "[[3.0, 1.0, 2.0], [9.0, 6.0, 6.0]]");
  EXPECT_EQ(numpy::cumsum(Array::of<int8_t>({100, 100})).values<int8_t>()[1], -56);
}

TEST(NumpyParts, TakeApartAndRepeat) {
  EXPECT_EQ(numpy::split(kMatrix, 3, 1).size(), 3u);
  EXPECT_EQ(numpy::repeat(kMatrix, 2, 0).to_string(),
            "[[3.0, 1.0, 2.0], [3.0, 1.0, 2.0], [6.0, 5.0, 4.0], [6.0, 5.0, 4.0]]");
  EXPECT_EQ(numpy::tril(kMatrix).to_string(), "[[3.0, 0.0, 0.0], [6.0, 5.0, 0.0]]");
  EXPECT_EQ(numpy::diagonal(kMatrix, 1).to_string(), "[1.0, 4.0]");
  EXPECT_EQ(numpy::roll(Array::of<int>({1, 2, 3}), 1).to_string(), "[3, 1, 2]");
}

TEST(NumpyProducts, Einsum) {
  EXPECT_EQ(numpy::einsum("ij,kj->ik", {kMatrix, kMatrix}).to_string(),
            "[[14.0, 31.0], [31.0, 77.0]]");
  EXPECT_EQ(numpy::einsum("ij->", {kMatrix}).item<float>(), 21);
}

TEST(LaxArrays, SayWhatDoesNotFit) {
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [] { lax::cumsum(kMatrix, 2); }),
            "cumsum: axis 2 does not lie in f32[2,3]");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [] { lax::sort({{kMatrix}}, 0, true, 2); }),
            "sort: num_keys must lie in [1, 1], the number of operands; got 2");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [] { lax::top_k(kMatrix, 4, 1); }),
            "top_k: k must lie in [0, 3], the size of dimension 1 of f32[2,3]; got 4");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                     [] {
                       lax::conv_general_dilated(kMatrix, kMatrix, {.lhs_spec = {0, 0}});
                     }),
            "conv_general_dilated: lhs_spec [0,0] must be a permutation of 2 dimensions; the "
            "operand is f32[2,3]");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                     [] { lax::fft(kMatrix, "RFFT", std::vector<int64_t>{4}); }),
            "fft: RFFT with fft_lengths [4] takes last dimensions of [4]; got f32[2,3]");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                     [] { lax::reduce_window_sum(kMatrix, {.window_dimensions = {2}}); }),
            "reduce_window_sum: window_dimensions [2] must be a positive number for each dimension "
            "of f32[2,3]");
}

}  // namespace
}  // namespace farcall
