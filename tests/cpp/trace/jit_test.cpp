// jit: one program for each signature.
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/trace/interpreter.h>
#include <farcall/trace/jit.h>

#include "arrays.h"

namespace farcall {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using testing::values;
using Arrays = std::vector<Array>;

TEST(Jit, RecordsOnceForEachSignature) {
  int recordings = 0;
  const auto f = jit([&](const Array& x) {
    ++recordings;
    return x * 2;
  });
  for (int round = 0; round < 3; ++round) {
    EXPECT_THAT(values<float>(f(Array::of<float>({1, 2}))), ElementsAre(2, 4));
    EXPECT_EQ(recordings, 1);
  }
  EXPECT_THAT(values<float>(f(Array::of<float>({1}))), ElementsAre(2));  // a shape
  EXPECT_EQ(recordings, 2);
  EXPECT_THAT(values<double>(f(Array::of<double>({1, 2}))), ElementsAre(2, 4));  // a dtype
  EXPECT_EQ(recordings, 3);
  f(Array::scalar(1.f));
  EXPECT_EQ(recordings, 4);
  EXPECT_TRUE(f(Array(1.f)).type().weak_type());  // weakness
  EXPECT_EQ(recordings, 5);
}

TEST(Jit, ManySignatures) {
  const CompiledFunction f([](std::span<const Array> x) { return Arrays{lax::neg(x[0])}; });
  for (int round = 0; round < 2; ++round) {
    for (int64_t size = 1; size <= 200; ++size) {
      const Array x = numpy::ones(Shape{size});
      EXPECT_EQ(f({&x, 1})[0].size(), size);
    }
    EXPECT_EQ(f.cache_size(), 200u);
  }
}

TEST(Jit, ResultsInEveryForm) {
  const Array x = Array::of<float>({1, 2});
  const auto [a, b] = jit([](const Array& x) { return std::tuple(x, lax::neg(x)); })(x);
  EXPECT_THAT(values<float>(a), ElementsAre(1, 2));
  EXPECT_THAT(values<float>(b), ElementsAre(-1, -2));
  const Arrays list = jit([](const Array& x) { return Arrays{x, x, lax::exp(x)}; })(x);
  EXPECT_EQ(list.size(), 3u);
  EXPECT_TRUE(jit([](const Array&) { return Arrays{}; })(x).empty());
  EXPECT_EQ(jit([] { return Array::scalar(3.f); })().item<float>(), 3);
}

TEST(Jit, ManyArgumentsAndResults) {
  const CompiledFunction f([](std::span<const Array> x) {
    Arrays results;
    for (const Array& each : x) results.push_back(each + 1);
    return results;
  });
  Arrays inputs;
  for (int i = 0; i < 40; ++i) inputs.push_back(Array::scalar(static_cast<float>(i)));
  const Arrays results = f(inputs);
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(results[static_cast<size_t>(i)].item<float>(), static_cast<float>(i + 1));
  }
}

TEST(Jit, ANestedOneIsInlined) {
  int recordings = 0;
  const auto inner = jit([&](const Array& x) {
    ++recordings;
    return lax::neg(x);
  });
  const CompiledFunction outer(
      [&](std::span<const Array> x) { return Arrays{inner(inner(x[0]))}; });
  const ShapeDtype types[] = {ShapeDtype(DType::kFloat32, {2})};
  EXPECT_EQ(outer.record(types)->equations.size(), 2u);
  EXPECT_EQ(recordings, 2);
  const Array x = Array::of<float>({1, 2});
  EXPECT_THAT(values<float>(outer({&x, 1})[0]), ElementsAre(1, 2));
}

TEST(Jit, AnExceptionLeavesItUsable) {
  bool fails = true;
  const auto f = jit([&](const Array& x) {
    if (fails) throw std::runtime_error("not yet");
    return lax::neg(x);
  });
  const Array x = Array::of<float>({1});
  EXPECT_THROW(f(x), std::runtime_error);
  EXPECT_TRUE(is_evaluating());
  fails = false;
  EXPECT_THAT(values<float>(f(x)), ElementsAre(-1));
}

TEST(Jit, ATracerThatLeaksFromOneCallIsRefusedInAnother) {
  Array kept;
  const auto f = jit([&](const Array& x) {
    kept = x;
    return x;
  });
  f(Array::of<float>({1}));
  EXPECT_THROW(kept + 1, LeakedTracerError);
  EXPECT_THROW(f(kept), ConcretizationError);
}

TEST(Jit, AConcreteValueCannotSteerIt) {
  const auto f = jit([](const Array& x) { return x.item<float>() > 0 ? x : lax::neg(x); });
  EXPECT_THROW(f(Array::scalar(1.f)), ConcretizationError);
}

TEST(Jit, ChangesOfAClosedOverArrayComeTooLate) {
  Array factor = Array::of<float>({2});
  const auto f = jit([&](const Array& x) { return x * factor; });
  EXPECT_THAT(values<float>(f(Array::of<float>({3}))), ElementsAre(6));
  factor = Array::of<float>({5});
  EXPECT_THAT(values<float>(f(Array::of<float>({3}))), ElementsAre(6));
}

TEST(Jit, SmallProgramsAreBrief) {
  const CompiledFunction f([](std::span<const Array> x) { return Arrays{lax::neg(x[0])}; });
  const ShapeDtype few[] = {ShapeDtype(DType::kFloat32, {8})};
  const ShapeDtype many[] = {ShapeDtype(DType::kFloat32, {100000})};
  EXPECT_TRUE(f.compile(few)->is_brief());
  EXPECT_FALSE(f.compile(many)->is_brief());
}

TEST(Engine, ByName) {
  EXPECT_EQ(default_engine().name(), "native");
  EXPECT_EQ(default_engine().platform(), "cpu");
  EXPECT_EQ(&find_engine("native"), &default_engine());
  EXPECT_EQ(error_of(ErrorCode::kNotFound, [] { find_engine("abacus"); }),
            "there is no engine \"abacus\"; there are: native");
}

}  // namespace
}  // namespace farcall
