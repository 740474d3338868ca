// Sums of runs are close to the exact sum and bitwise equal for all instruction sets.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "engine/instruction_sets.h"
#include "engine/native/kernels/reductions/sum_floats.h"

namespace farcall::native {
namespace {

// The results with each instruction set of this processor.
std::vector<double> sums(const std::vector<float>& x, size_t first, double zero = 0) {
  std::vector<double> results;
  testing::for_each_instruction_set([&](int64_t) {
    double sum = zero;
    add_sums(x.data() + first, 1, static_cast<int64_t>(x.size() - first), zero, &sum);
    results.push_back(sum);
  });
  return results;
}

TEST(SumFloats, AreExactToTheLastPlacesOfDouble) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (const size_t size : {8, 9, 15, 16, 31, 63, 64, 65, 127, 1000, 100'003}) {
    std::vector<float> x(size + 1);
    long double exact = 0, magnitude = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = normal(random);
      if (i == 0) continue;
      exact += x[i];
      magnitude += std::abs(x[i]);
    }
    const std::vector<double> all = sums(x, 1);  // unaligned
    ASSERT_FALSE(all.empty());
    EXPECT_LE(std::abs(all[0] - exact), 1e-13L * magnitude) << size;
    for (const double each : all) EXPECT_EQ(each, all[0]) << size;
  }
}

TEST(SumFloats, OfSeveralRuns) {
  for (const int64_t size : {8, 13, 64, 100}) {
    std::vector<float> x(static_cast<size_t>(5 * size));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    testing::for_each_instruction_set([&](int64_t) {
      std::vector<double> sums{100, 200, 300, 400, 500};
      add_sums(x.data(), 5, size, 0, sums.data());
      for (int64_t run = 0; run < 5; ++run) {
        const int64_t first = run * size, of_run = size * (2 * first + size - 1) / 2;
        EXPECT_EQ(sums[static_cast<size_t>(run)], static_cast<double>(100 * (run + 1) + of_run));
      }
    });
  }
}

TEST(SumFloats, OfNumbersThatAreNotOrdinary) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  for (const size_t at : {0, 100, 199}) {
    std::vector<float> x(200, 1.0f);
    x[at] = NAN;
    for (const double each : sums(x, 0)) EXPECT_TRUE(std::isnan(each));
    x[at] = -kInfinity;
    for (const double each : sums(x, 0)) EXPECT_EQ(each, -kInfinity);
    x[(at + 1) % 200] = kInfinity;
    for (const double each : sums(x, 0)) EXPECT_TRUE(std::isnan(each));
  }
  for (const double each : sums(std::vector<float>(200, kTiny), 0)) EXPECT_EQ(each, 200.0 * kTiny);
  for (const double each : sums(std::vector<float>(200, -0.0f), 0, -0.0)) {
    EXPECT_TRUE(each == 0 && std::signbit(each));
  }
}

}  // namespace
}  // namespace farcall::native
