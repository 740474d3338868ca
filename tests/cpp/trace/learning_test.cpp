// Attention, segment reductions, trees as vectors, barriers.
#include <gtest/gtest.h>

#include <cmath>

#include <farcall/core/error.h>
#include <farcall/nn/attention.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/optimization_barrier.h>
#include <farcall/ops/ravel.h>
#include <farcall/ops/segments.h>
#include <farcall/program/text.h>
#include <farcall/trace/derivatives.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/vmap.h>

#include "array_testing.h"

namespace farcall {
namespace {

TEST(Segments, RowsAreReducedByTheirIds) {
  const Array data = Array::of<float>({1, 2, 3, 4, 5});
  const Array ids = Array::of<int32_t>({2, 0, 2, 7, -1});
  EXPECT_EQ(ops::segment_sum(data, ids, {.num_segments = 3}).to_string(), "[2.0, 0.0, 4.0]");
  EXPECT_EQ(ops::segment_prod(data, ids, {.num_segments = 3}).to_string(), "[2.0, 1.0, 3.0]");
  EXPECT_EQ(ops::segment_max(data, ids, {.num_segments = 3}).values<float>()[2], 3);
  EXPECT_EQ(ops::segment_min(data, ids, {.num_segments = 3}).values<float>()[2], 1);
  EXPECT_EQ(ops::segment_sum(data, ids, {.num_segments = 3, .bucket_size = 2}).to_string(),
            "[2.0, 0.0, 4.0]");
  EXPECT_EQ(ops::segment_sum(data, ids).size(), 8);
  EXPECT_NE(message_of([&] { ops::segment_sum(data, data); }).find("must be integers"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              jit([&](const Array& i) { return ops::segment_sum(data, i); })(ids);
            }).find("To fix this, pass num_segments="),
            std::string::npos);
}

TEST(Attention, OneKeyGivesItsValue) {
  const Array query = numpy::ones({1, 2, 1, 3}), key = numpy::ones({1, 1, 1, 3});
  const Array value = Array::of<float>({4, 5, 6}, {1, 1, 1, 3});
  const nn::Attention result = nn::attention(query, key, value);
  EXPECT_EQ(result.output.values<float>()[5], 6);
  EXPECT_EQ(result.residual.rank(), 3U);
  EXPECT_FLOAT_EQ(result.residual.values<float>()[0], 3 / std::sqrt(3.0f));
  EXPECT_NE(message_of([&] { nn::dot_product_attention(query, key, query); }).find("value must be"),
            std::string::npos);
}

TEST(Attention, ACausalQuerySeesNoLaterKey) {
  const Array ones = numpy::ones({1, 2, 1, 1});
  const Array value = Array::of<float>({1, 3}, {1, 2, 1, 1});
  const Array output = nn::dot_product_attention(ones, ones, value, {.is_causal = true});
  EXPECT_EQ(output.values<float>()[0], 1);
  EXPECT_EQ(output.values<float>()[1], 2);
}

TEST(Ravel, ATreeBecomesAVectorAndComesBack) {
  using Tree = std::tuple<Array, std::vector<Array>>;
  const Tree tree{Array::of<float>({1, 2}), {Array::of<int32_t>({3, 4}, {2, 1})}};
  const auto [vector, unravel] = ravel_tree(tree);
  EXPECT_EQ(vector.to_string(), "[1.0, 2.0, 3.0, 4.0]");
  const Tree back = unravel(vector * Array(2.0f));
  EXPECT_EQ(std::get<1>(back)[0].type(), std::get<1>(tree)[0].type());
  EXPECT_EQ(std::get<1>(back)[0].values<int32_t>()[1], 8);
  const auto& again = unravel;
  EXPECT_NE(message_of([&] { again(Array::of<float>({1})); }).find("a vector of 4 elements"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              again(Array::of<int32_t>({1, 2, 3, 4}));
            }).find("a vector of float32"),
            std::string::npos);
}

TEST(OptimizationBarrier, GivesItsOperandsAndTheirDerivatives) {
  const auto f = [](const Array& x) {
    const auto tied = lax::optimization_barrier({x, x * x});
    return tied[0] + tied[1];
  };
  const Array x = Array::scalar(3.0f);
  EXPECT_EQ(f(x).item<float>(), 12);
  EXPECT_EQ(jit(f)(x).item<float>(), 12);
  EXPECT_EQ(grad(f)(x).item<float>(), 7);
  EXPECT_EQ(jit(grad(grad(f)))(x).item<float>(), 2);
  EXPECT_EQ(vmap(f)(Array::of<float>({1, 3})).values<float>()[1], 12);
  EXPECT_NE(to_text(*make_jaxpr(f)(x)).find("optimization_barrier"), std::string::npos);
}

}  // namespace
}  // namespace farcall
