// jit: one program per signature.
#include <atomic>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/ops/collectives.h>
#include <farcall/ops/numpy_indexing.h>
#include <farcall/program/text.h>
#include <farcall/trace/derivatives.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/vmap.h>

#include "arrays.h"
#include "trees.h"

namespace farcall {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::Layer;
using testing::layer;
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
  const auto f = jit([](const Array& x) { return lax::neg(x); });
  for (int round = 0; round < 2; ++round) {
    for (int64_t size = 1; size <= 200; ++size) {
      const Array x = numpy::ones(Shape{size});
      EXPECT_EQ(f(x).size(), size);
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
  const auto f = jit([](const Arrays& x) {
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

TEST(Jit, MoreOrFewerArgumentsAreAnotherSignature) {
  const auto f = jit([](const Arrays& x) {
    Array sum = x[0];
    for (const Array& each : std::span(x).subspan(1)) sum = sum + each;
    return sum;
  });
  const Array one = Array::scalar(1.f);
  for (int round = 0; round < 2; ++round) {
    for (const size_t count : {2, 1, 3}) {
      EXPECT_EQ(f(Arrays(count, one)).item<float>(), static_cast<float>(count));
    }
  }
}

TEST(Jit, ANestedOneIsInlined) {
  int recordings = 0;
  const auto inner = jit([&](const Array& x) {
    ++recordings;
    return lax::neg(x);
  });
  const auto outer = jit([&](const Array& x) { return inner(inner(x)); });
  const Array x = Array::of<float>({1, 2});
  EXPECT_EQ(outer.lower(x).program()->equations.size(), 2u);
  EXPECT_EQ(recordings, 1);
  EXPECT_THAT(values<float>(outer(x)), ElementsAre(1, 2));
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

// Moved-from objects stay valid: the move shares the contents.
TEST(Jit, MovedFromItAndItsProgramsStayUsable) {
  const auto twice = [](const Array& x) { return x + x; };
  auto f = jit(twice);
  auto lowered = f.lower(Array(1.f));
  auto compiled = lowered.compile();
  const auto moved = std::tuple(std::move(f), std::move(lowered), std::move(compiled));
  EXPECT_EQ(f(Array(1.f)).item<float>(), 2);
  EXPECT_EQ(lowered.compile()(Array(1.f)).item<float>(), 2);
  EXPECT_EQ(compiled(Array(1.f)).item<float>(), 2);
  auto [value, pull] = vjp(twice, Array(1.f));
  const auto taken = std::move(pull);
  EXPECT_EQ(std::get<0>(pull(1.f)).item<float>(), 2);
}

TEST(Run, RefusesOtherInputsThanTheProgramTakes) {
  const auto compiled = jit([](const Array& x, const Array& y) { return x + y; })
                            .lower(Array::of<float>({1, 2}), Array(1.f))
                            .compile();
  const Executable& executable = compiled.executable();
  const auto run_on = [&](Arrays inputs) { return run(executable, inputs); };
  EXPECT_THAT(values<float>(run_on({Array::of<float>({1, 2}), Array::scalar(3.f)})[0]),
              ElementsAre(4, 5));
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [&] { run_on({Array(1.f)}); }),
            "run: the program takes 2 inputs, got 1");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                     [&] {
                       run_on({Array(1.f), Array(1.f)});
                     }),
            "run: input 0 should be f32[2], got f32[]*");
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
  const auto f = jit([](const Array& x) { return lax::neg(x); });
  EXPECT_TRUE(f.lower(numpy::ones({8})).compile().executable().may_keep_lock());
  EXPECT_FALSE(f.lower(numpy::ones({100000})).compile().executable().may_keep_lock());
}

// ---- trees and static arguments ----

TEST(JitOfTrees, RecordsOnceForEachStructure) {
  int recordings = 0;
  const auto total = jit([&](const std::vector<Layer>& layers) {
    ++recordings;
    Array sum = 0.f;
    for (const Layer& layer : layers) sum = sum + numpy::sum(layer.weights) * layer.shift;
    return std::map<std::string, Array>{{"sum", sum}};
  });
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(total(std::vector{layer(1, 2)}).at("sum").item<float>(), 6);
    EXPECT_EQ(total(std::vector{layer(1, 2), layer(0, 5)}).at("sum").item<float>(), 11);
  }
  EXPECT_EQ(recordings, 2);
  EXPECT_EQ(total.cache_size(), 2u);
}

TEST(JitOfTrees, ResultsMayDependOnTheShape) {
  const auto rows = jit([](const Array& x) {
    std::vector<Array> parts;
    for (int64_t i = 0; i < x.shape()[0]; ++i) parts.push_back(numpy::take(x, i, 0));
    return parts;
  });
  EXPECT_EQ(rows(Array::of<float>({1, 2})).size(), 2u);
  EXPECT_EQ(rows(Array::of<float>({1, 2, 3})).size(), 3u);
  EXPECT_EQ(rows(Array::of<float>({4, 5}))[1].item<float>(), 5);
}

TEST(JitOfTrees, ParametersWithoutArraysAreStatic) {
  int recordings = 0;
  const auto power = jit([&](const Array& x, int exponent, const std::string& sign) {
    ++recordings;
    Array y = 1.f;
    for (int i = 0; i < exponent; ++i) y = y * x;
    return sign == "-" ? -y : y;
  });
  EXPECT_EQ(power(2.f, 3, "+").item<float>(), 8);
  EXPECT_EQ(power(3.f, 3, "+").item<float>(), 27);
  EXPECT_EQ(recordings, 1);
  EXPECT_EQ(power(2.f, 4, "+").item<float>(), 16);
  EXPECT_EQ(power(2.f, 4, "-").item<float>(), -16);
  EXPECT_EQ(recordings, 3);
}

TEST(JitOfTrees, AGenericFunctionIsCompiledForEachType) {
  const auto first = jit([](const auto& tree) { return tree::leaves(tree)[0]; });
  EXPECT_EQ(first(std::tuple(Array(1.f), Array(2.f))).item<float>(), 1);
  EXPECT_EQ(first(std::pair(Array(3.f), Array(4.f))).item<float>(), 3);
  EXPECT_EQ(first.cache_size(), 2u);
}

TEST(JitOfTrees, InsideOtherFunctionsItIsRecordedOnce) {
  int recordings = 0;
  const auto square = jit([&](const Array& x) {
    ++recordings;
    return x * x;
  });
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(grad(square)(3.f).item<float>(), 6);
    EXPECT_THAT(values<float>(vmap(square)(Array::of<float>({1, 2}))), ElementsAre(1, 4));
  }
  EXPECT_EQ(recordings, 2);  // a weakly typed number and a float
  EXPECT_EQ(square(3.f).item<float>(), 9);
  EXPECT_EQ(recordings, 2);
}

TEST(JitOfTrees, WhatItClosesOverInAnotherFunctionHoldsForOneCall) {
  const auto f = [](const Array& x) { return jit([&](const Array& y) { return x * y; })(2.f) + x; };
  EXPECT_EQ(grad(f)(5.f).item<float>(), 3);
  EXPECT_THAT(values<float>(vmap(f)(Array::of<float>({1, 2}))), ElementsAre(3, 6));
}

TEST(JitOfTrees, TheSizeOfAnAxisThatItNamesCounts) {
  const std::string names[] = {"i"};
  const auto share = jit([&](const Array& x) { return x / lax::psum(x, names); });
  const auto mapped = vmap(share, {.axis_name = "i"});
  EXPECT_THAT(values<float>(mapped(Array::of<float>({1, 3}))), ElementsAre(0.25, 0.75));
  EXPECT_THAT(values<float>(mapped(Array::of<float>({1, 1, 2}))), ElementsAre(0.25, 0.25, 0.5));
}

TEST(JitOfTrees, AnyNumberOfThreads) {
  const auto total = jit([](const std::vector<Array>& all) {
    Array sum = 0.f;
    for (const Array& each : all) sum = sum + each;
    return sum;
  });
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (size_t count = 1; count < 20; ++count) {
        const std::vector<Array> ones(count, Array::scalar(1.f));
        if (total(ones).item<float>() != static_cast<float>(count)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(total.cache_size(), 19u);
}

TEST(JitOfTrees, MakeJaxprShowsTheProgram) {
  const auto f = [](const Layer& layer) { return -layer.shift; };
  EXPECT_EQ(to_text(*make_jaxpr(f)(layer(1, 2))),
            "{ lambda ; a:f32[2] b:f32[]. let\n    c:f32[] = neg b\n  in (c,) }");
}

// ---- lower and compile ----

TEST(Lowered, IsTheProgramWithTheTreesOfItsArgumentsAndResult) {
  int recordings = 0;
  const auto f = jit(
      [&](const Layer& layer, int power) {
        ++recordings;
        return std::vector<Array>(static_cast<size_t>(power), layer.weights * layer.shift);
      },
      {.name = "f"});
  const auto lowered = f.lower(layer(1, 2), 3);
  EXPECT_EQ(lowered.as_text(), to_text(*lowered.program()));
  EXPECT_THAT(lowered.as_text(), HasSubstr("a:f32[2] b:f32[]"));
  EXPECT_EQ(lowered.in_tree(), tree::structure(std::tuple(layer(1, 2), 3)));
  EXPECT_EQ(lowered.out_tree().to_string(), "[*, *, *]");
  const auto compiled = lowered.compile();
  const std::vector<Array> results = compiled(layer(2, 3), 3);
  ASSERT_EQ(results.size(), 3u);
  EXPECT_THAT(values<float>(results[2]), ElementsAre(6, 9));
  EXPECT_EQ(compiled.executable().memory().argument_bytes, 12);
  EXPECT_TRUE(compiled.executable().report().empty());
  f(layer(1, 2), 3);
  EXPECT_EQ(recordings, 1);
}

TEST(Lowered, CompiledItTakesTheSameArgumentsOnly) {
  const auto f = [](const Layer& layer, int power) { return layer.weights * power; };
  const auto compiled = jit(f, {.name = "f"}).lower(layer(1, 2), 3).compile();
  EXPECT_EQ(error_of<TypeError>(ErrorCode::kInvalidArgument,
                                [&] {
                                  compiled(Layer{Array::of<float>({1}), 2.f}, 3);
                                }),
            "compiled jit(f): argument 0.weights should be f32[2], got f32[1]");
  EXPECT_THAT(error_of<TypeError>(ErrorCode::kInvalidArgument, [&] { compiled(layer(1, 2), 4); }),
              HasSubstr("compiled jit(f): it takes arguments of structure"));
  EXPECT_THAT(values<float>(compiled(layer(1, 2), 3)), ElementsAre(3, 6));
}

TEST(Lowered, DonatesWhatJitDonates) {
  const auto f = [](const Layer& state) { return Layer{state.weights * 2, state.shift}; };
  const auto compiled = jit(f, {.donate_argnums = {0}}).lower(layer(1, 2)).compile();
  const Layer given = layer(1, 2);
  EXPECT_THAT(values<float>(compiled(given).weights), ElementsAre(2, 4));
  EXPECT_TRUE(given.weights.is_deleted());
}

TEST(Lowered, AProgramThatHoldsForOneCallIsNone) {
  EXPECT_THAT(error_of<LeakedTracerError>(
                  ErrorCode::kInvalidArgument,
                  [] {
                    jit([](const Array& x) {
                      jit([&](const Array& y) { return x + y; }, {.name = "inner"}).lower(x);
                      return x;
                    })(Array(1.f));
                  }),
              HasSubstr("jit(inner): lower: the function closes over a traced array"));
}

// ---- donation ----

const auto kUpdate = [](const Layer& state, const Array& change) {
  return Layer{state.weights * 2 + change, state.shift + 1};
};

Layer fresh_layer() { return {Array::of<float>({1, 2, 3, 4}), Array::scalar(5.f)}; }

TEST(Donation, TheResultLiesInTheDonatedMemory) {
  const auto f = jit(kUpdate, {.donate_argnums = {0}});
  const Layer given = fresh_layer();
  const void* memory = given.weights.data();
  const Layer result = f(given, Array::of<float>({1, 1, 1, 1}));
  EXPECT_THAT(values<float>(result.weights), ElementsAre(3, 5, 7, 9));
  EXPECT_EQ(result.weights.data(), memory);
  EXPECT_TRUE(given.weights.is_deleted());
}

TEST(Donation, ADeletedArrayIsRefused) {
  const auto f = jit(kUpdate, {.donate_argnums = {-2}});
  const Array change = Array::of<float>({1, 1, 1, 1});
  const Layer given = fresh_layer();
  f(given, change);
  const std::string text =
      "Array has been deleted with shape=f32[4]: delete() was called, or it was donated to a "
      "jitted "
      "function, which used its memory. In the latter case keep the function's result, or do not "
      "name the argument in donate_argnums";
  EXPECT_EQ(error_of(ErrorCode::kFailedPrecondition, [&] { f(given, change); }), text);
  EXPECT_EQ(error_of(ErrorCode::kFailedPrecondition, [&] { given.weights + 1; }), text);
  EXPECT_EQ(error_of(ErrorCode::kFailedPrecondition, [&] { block_until_ready(given.weights); }),
            text);
  EXPECT_EQ(given.weights.to_string(), "deleted f32[4]");
  EXPECT_FALSE(change.is_deleted());
  EXPECT_THAT(values<float>(f(fresh_layer(), change).weights), ElementsAre(3, 5, 7, 9));
}

TEST(Donation, MemoryThatOthersHoldIsLeftAlone) {
  const auto f = jit(kUpdate, {.donate_argnums = {0}});
  const Layer given = fresh_layer();
  const Array other(given.weights.type(), given.weights.storage());  // shares the memory
  f(given, Array::of<float>({1, 1, 1, 1}));
  EXPECT_FALSE(given.weights.is_deleted());
  EXPECT_THAT(values<float>(given.weights), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(values<float>(other), ElementsAre(1, 2, 3, 4));
}

TEST(Donation, AnArrayThatIsPassedTwiceIsLeftAlone) {
  const auto f =
      jit([](const Array& x, const Array& y) { return x * 2 + y; }, {.donate_argnums = {0}});
  const Array x = Array::of<float>({1, 2});
  EXPECT_THAT(values<float>(f(x, x)), ElementsAre(3, 6));
  EXPECT_THAT(values<float>(x), ElementsAre(1, 2));
}

TEST(Donation, OfAnArgumentThatIsNotThere) {
  const auto f = jit(kUpdate, {.name = "update", .donate_argnums = {2}});
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [&] { f(fresh_layer(), 1.f); }),
            "jit(update): donate_argnums names argument 2, but the function takes 2");
}

TEST(Engine, ByName) {
  EXPECT_EQ(default_engine().name(), "native");
  EXPECT_EQ(default_device().description().platform, "cpu");
  EXPECT_EQ(&find_engine("native"), &default_engine());
  EXPECT_EQ(error_of(ErrorCode::kNotFound, [] { find_engine("abacus"); }),
            "unknown engine \"abacus\"; known ones: native");
}

}  // namespace
}  // namespace farcall
