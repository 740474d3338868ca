// Memory of values: reshapes are free, dead operands are overwritten, the arena is reused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/core/interrupt.h>
#include <farcall/core/memory_pool.h>
#include <farcall/ops/loops.h>

#include "calls.h"

namespace farcall::native {
namespace {

using testing::array_of;
using ::testing::ElementsAre;
using testing::f32;
using testing::floats;
using testing::iota;
using testing::plan_of;

constexpr auto kKernel = Instruction::Kind::kKernel;

TEST(Memory, AReshapeIsNoInstruction) {
  const auto plan = plan_of(
      [](std::span<const Array> x) {
        return std::vector<Array>{numpy::ravel(lax::neg(numpy::reshape(x[0], Shape{3, 2})))};
      },
      {f32({2, 3})});
  EXPECT_EQ(testing::count(*plan, kKernel), 1u);
  EXPECT_EQ(plan->arena_bytes, 0u);
}

TEST(Memory, AReshapeOfALiteralIsACopy) {
  const auto f = jit([](const Array& x) {
    return std::tuple(numpy::reshape(Array(2.5f), Shape{1, 1}), lax::neg(x));
  });
  const auto [reshaped, negated] = f(Array::of<float>({1}));
  EXPECT_THAT(floats(reshaped), ElementsAre(2.5f));
  EXPECT_EQ(reshaped.rank(), 2u);
}

TEST(Memory, AChainOfElementwiseOperationsLiesInItsResult) {
  const auto plan = plan_of(
      [](std::span<const Array> x) {
        return std::vector<Array>{lax::exp(lax::neg(lax::sin(lax::neg(x[0]))))};
      },
      {f32({100})});
  // The intermediate values are computed where the result is.
  EXPECT_EQ(plan->arena_bytes, 0u);
}

TEST(Memory, AnIntermediateValueIsComputedInTheMemoryOfItsResult) {
  const auto f = [](std::span<const Array> x) {
    return std::vector<Array>{lax::neg(lax::transpose(x[0], {1, 0}))};
  };
  EXPECT_EQ(plan_of(f, {f32({30, 20})})->arena_bytes, 0u);
  // Of two intermediate values only one can be there.
  const auto two = [](std::span<const Array> x) {
    return std::vector<Array>{lax::add(lax::transpose(x[0], {1, 0}), lax::transpose(x[1], {1, 0}))};
  };
  EXPECT_EQ(plan_of(two, {f32({30, 20}), f32({30, 20})})->arena_bytes, 2432u);
  const auto run = jit([](const Array& x, const Array& y) {
    return lax::sub(lax::transpose(x, {1, 0}), lax::transpose(y, {1, 0}));
  });
  EXPECT_THAT(floats(run(array_of({1, 2, 3, 4}, {2, 2}), array_of({5, 7, 9, 1}, {2, 2}))),
              ElementsAre(-4, -6, -5, 3));
}

TEST(Memory, WhatIsReadLaterIsNotWrittenOver) {
  const auto f = jit([](const Array& x) {
    const Array a = lax::neg(x);
    const Array b = lax::exp(a);
    return std::tuple(lax::add(a, b), lax::mul(a, a));
  });
  const auto [sum, square] = f(Array::of<float>({0, 2}));
  EXPECT_THAT(floats(sum), ElementsAre(1.f, std::exp(-2.f) - 2));
  EXPECT_THAT(floats(square), ElementsAre(0, 4));
}

TEST(Memory, AScalarOfTheResultsSizeIsNotWrittenOver) {
  // Eight bytes each: one float64, and eight bools.
  const auto f = jit([](const Array& x, const Array& y) { return lax::lt(lax::neg(x), y); });
  const Array result = f(Array::scalar(-1.0), Array::of<double>({0, 1, 2, 3, 0, 1, 2, 3}));
  const auto values = result.values<bool>();
  EXPECT_THAT(std::vector<bool>(values.begin(), values.end()),
              ElementsAre(false, false, true, true, false, false, true, true));
}

TEST(Memory, ALongChainNeedsTwoPlaces) {
  const auto plan = plan_of(
      [](std::span<const Array> x) {
        Array y = x[0];
        for (int i = 0; i < 50; ++i) {
          y = lax::transpose(y, std::vector<int64_t>{1, 0});  // never in place
        }
        return std::vector<Array>{y};
      },
      {f32({10, 10})});
  EXPECT_EQ(plan->arena_bytes, 2 * 448u);
}

TEST(Memory, OutputsOfEveryKind) {
  const Array closed_over = Array::of<float>({7, 8});
  const auto f = jit([&](const Array& x) {
    const Array y = lax::neg(x);
    return std::tuple(x, closed_over, Array(3.f), y, y, numpy::reshape(y, Shape{1, 2}),
                      numpy::reshape(x, Shape{2, 1}), numpy::reshape(closed_over, Shape{2, 1}));
  });
  for (int run = 0; run < 2; ++run) {
    const Array x = Array::of<float>({1, 2});
    const auto [a, b, c, d, e, g, h, i] = f(x);
    EXPECT_EQ(a.data(), x.data());  // shared, since arrays are immutable
    EXPECT_THAT(floats(b), ElementsAre(7, 8));
    EXPECT_THAT(floats(c), ElementsAre(3));
    EXPECT_THAT(floats(d), ElementsAre(-1, -2));
    EXPECT_EQ(d.data(), e.data());
    EXPECT_EQ(d.data(), g.data());
    EXPECT_EQ(h.data(), x.data());
    EXPECT_THAT(floats(i), ElementsAre(7, 8));
    EXPECT_EQ(i.rank(), 2u);
  }
}

TEST(Memory, ResultsOfTwoRunsAreApart) {
  const auto f = jit([](const Array& x) { return lax::neg(x); });
  const Array first = f(Array::of<float>({1}));
  const Array second = f(Array::of<float>({2}));
  EXPECT_THAT(floats(first), ElementsAre(-1));
  EXPECT_THAT(floats(second), ElementsAre(-2));
}

TEST(Memory, AdoptedMemoryIsNoResult) {
  std::vector<float> memory = {1, 2};
  const Array borrowed(f32({2}), Storage::adopt(memory.data(), 8, nullptr, nullptr));
  const auto f = jit([&](const Array& x) { return std::tuple(x, borrowed); });
  const auto [input, constant] = f(borrowed);
  memory[0] = 100;
  EXPECT_THAT(floats(input), ElementsAre(1, 2));
  EXPECT_THAT(floats(constant), ElementsAre(1, 2));
}

TEST(Memory, ZeroSizedArrays) {
  const auto f = jit([](const Array& x) {
    const Array y = lax::exp(x);
    return std::tuple(y, numpy::sum(y, std::vector<int64_t>{0}), numpy::transpose(y),
                      numpy::reshape(y, Shape{3, 0, 5}));
  });
  const auto [y, sum, turned, reshaped] = f(numpy::zeros(Shape{0, 3}));
  EXPECT_EQ(y.size(), 0);
  EXPECT_THAT(floats(sum), ElementsAre(0, 0, 0));
  EXPECT_THAT(turned.shape(), ElementsAre(3, 0));
  EXPECT_THAT(reshaped.shape(), ElementsAre(3, 0, 5));
}

// ---- large arenas

// 8 MiB.
Array large_input() {
  return numpy::reshape(numpy::arange(0, 2 << 20, 1, DType::kFloat32), Shape{1024, 2048});
}

// The intermediate values are as large as the input.
Array with_large_arena(const Array& x) {
  return numpy::sum(lax::rev(lax::neg(x), std::vector<int64_t>{0}), std::vector<int64_t>{1});
}

TEST(Memory, AnExecutableHoldsNoLargeArenaBetweenRuns) {
  const Array x = large_input();
  const auto f = jit(with_large_arena);
  const Array first = f(x);
  const MemoryPoolInfo before = memory_pool_info();
  const Array second = f(x);
  EXPECT_EQ(memory_pool_info().bytes_in_use, before.bytes_in_use);
  EXPECT_GT(memory_pool_info().hits, before.hits);
  EXPECT_EQ(floats(first), floats(second));
}

TEST(Memory, LargeArenasAreUsedAgainWhereverTheyLie) {
  const auto f = jit(with_large_arena);
  const Array x = large_input();
  const std::vector<float> expected = floats(f(x));
  for (size_t run = 0; run < 4; ++run) {
    // Occupies the block that the last run released, so that this run gets another one.
    const Storage blocker = Storage::allocate((8 + 4 * run) << 20);
    if (run == 2) clear_memory_pool();
    EXPECT_EQ(floats(f(x)), expected);
  }
}

TEST(Memory, LargeArenasOfLoops) {
  const auto f = jit([](const Array& x) {
    const std::vector<int64_t> rows = {0};
    return lax::scan(
        [&](const Array& y, const Array& step) {
          const Array moved = lax::rev(lax::rev(y, rows) + step, rows);
          return std::tuple(moved * 2.0f, numpy::sum(moved));
        },
        x, numpy::arange(0, 3, 1, DType::kFloat32));
  });
  const Array x = numpy::zeros(Shape{600, 500});
  for (int run = 0; run < 3; ++run) {
    const Storage blocker = Storage::allocate(size_t{2} << 20);
    const auto [last, sums] = f(x);
    EXPECT_EQ(floats(last).front(), 8);
    EXPECT_EQ(floats(last).back(), 8);
    EXPECT_THAT(floats(sums), ElementsAre(0, 300'000, 1'200'000));
  }
}

TEST(Memory, ARunWithALargeArenaThatFailsGivesItBack) {
  const auto f = jit(with_large_arena);
  const Array x = large_input();
  f(x);
  const size_t before = memory_pool_info().bytes_in_use;
  set_interrupt_check([] { throw std::runtime_error("stopped"); });
  EXPECT_THROW(
      {
        for (;;) f(x);
      },
      std::runtime_error);
  set_interrupt_check(nullptr);
  EXPECT_EQ(memory_pool_info().bytes_in_use, before);
  EXPECT_EQ(floats(f(x)).size(), 1024u);
}

TEST(Memory, ArraysOfRankSixteen) {
  Shape shape(16, 1);
  shape[0] = 2, shape[7] = 3, shape[15] = 2;
  std::vector<int64_t> backwards(16);
  for (int64_t i = 0; i < 16; ++i) backwards[static_cast<size_t>(i)] = 15 - i;
  const auto f = jit([&](const Array& x) {
    return std::tuple(lax::transpose(x, backwards), numpy::sum(x, std::vector<int64_t>{7}),
                      lax::add(x, x));
  });
  const Array x = Array::of(std::span<const float>(iota(12)), std::span<const int64_t>(shape));
  const auto [turned, sum, twice] = f(x);
  EXPECT_THAT(floats(turned), ElementsAre(0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11));
  EXPECT_THAT(floats(sum), ElementsAre(6, 9, 24, 27));
  EXPECT_EQ(floats(twice)[11], 22);
}

}  // namespace
}  // namespace farcall::native
