// Eager execution: programs of one equation, in a bounded cache.
#include <atomic>
#include <memory>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/primitives/elementwise.h>
#include <farcall/trace/interpreter.h>

#include "arrays.h"

namespace farcall {
namespace {

using ::testing::ElementsAre;
using testing::values;

TEST(Evaluator, RunsAtOnce) {
  const Array x = Array::of<float>({1, 2});
  EXPECT_EQ(&current_interpreter(), &evaluator());
  EXPECT_THAT(values<float>(lax::neg(x)), ElementsAre(-1, -2));
  EXPECT_THAT(values<float>(x), ElementsAre(1, 2));
}

TEST(Evaluator, ParametersAndTypesTellProgramsApart) {
  const Array x = Array::of<float>({2, 3});
  for (int round = 0; round < 2; ++round) {
    for (int64_t power = 0; power < 5; ++power) {
      EXPECT_EQ(values<float>(lax::integer_pow(x, power))[0], std::pow(2.f, power));
    }
    EXPECT_EQ(lax::neg(Array::scalar(int8_t{1})).item<int8_t>(), -1);
    EXPECT_EQ(lax::neg(Array::scalar(int64_t{1})).item<int64_t>(), -1);
    EXPECT_TRUE(lax::neg(Array(1)).type().weak_type());
    EXPECT_FALSE(lax::neg(Array::scalar(1)).type().weak_type());
  }
}

TEST(Evaluator, ForgetsAtItsBound) {
  const Primitive& primitive = *find_primitive("integer_pow");
  const Array x = Array::scalar(1.f);
  auto first = make_params(IntegerPowParams{-1});
  const std::weak_ptr<const Params> watch = first;
  bind_one(primitive, first, {&x, 1});
  first.reset();
  EXPECT_FALSE(watch.expired());  // its program is cached
  for (int64_t y = 0; y < 20000; ++y) {
    bind_one(primitive, make_params(IntegerPowParams{y}), {&x, 1});
  }
  EXPECT_TRUE(watch.expired());
}

TEST(Evaluator, FromManyThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int64_t i = 1; i < 300; ++i) {
        if (numpy::sum(numpy::ones(Shape{i % 40 + 1})).item<float>() !=
            static_cast<float>(i % 40 + 1)) {
          ++failures;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace farcall
