// Callbacks of C++ functions: in place, ordered, under every transformation, on many threads.
#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/core/interrupt.h>
#include <farcall/ops/callback.h>
#include <farcall/ops/control_flow.h>
#include <farcall/program/save.h>
#include <farcall/program/text.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/jit.h>

#include "arrays.h"

namespace farcall {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::kScalar;
using testing::kVector;
using testing::values;
using Arrays = std::vector<Array>;
using Inputs = std::span<const Array>;
using Numbers = std::vector<double>;

Array vector() { return Array::of<float>({1, 2, 3}); }

// out = x + 1
void add_one(ExecutionContext&, std::span<Buffer> out, std::span<const Buffer> x) {
  const auto from = x[0].values<float>();
  const auto to = out[0].values<float>();
  for (size_t i = 0; i < from.size(); ++i) to[i] = from[i] + 1;
}

BufferCallback adding_one(CallbackOptions options = {}) {
  return buffer_callback(add_one, {kVector}, std::move(options));
}

// Records the first element of each call's argument.
class Log {
 public:
  Array io(const Array& x, CallbackOptions options = {.is_ordered = true}) {
    const auto note = [this](Inputs in) {
      seen.push_back(in[0].item<float>());
      return Arrays{in[0]};
    };
    return io_callback(note, {kScalar}, {&x, 1}, std::move(options))[0];
  }
  void debug(const Array& x) {
    debug::callback([this](Inputs in) { seen.push_back(in[0].item<float>()); }, {&x, 1});
  }
  Numbers seen;
};

// ---- in place ----

TEST(BufferCallback, WritesResultsInTheProgramsMemory) {
  const void* argument = nullptr;
  void* result = nullptr;
  const auto look = [&](ExecutionContext& context, std::span<Buffer> out,
                        std::span<const Buffer> x) {
    EXPECT_EQ(context.stage(), Stage::kExecute);
    EXPECT_EQ(context.device_ordinal(), 0);
    EXPECT_NE(context.run_id(), 0);
    argument = x[0].data();
    result = out[0].data();
    add_one(context, out, x);
  };
  const BufferCallback callback = buffer_callback(look, {kVector});
  const Array x = vector();
  const auto jitted = jit([&](const Array& x) { return callback({x})[0]; });
  for (const bool compiled : {false, true}) {
    const Array y = compiled ? jitted(x) : callback({x})[0];
    EXPECT_THAT(values<float>(y), ElementsAre(2, 3, 4));
    EXPECT_EQ(argument, x.data());
    EXPECT_EQ(result, y.data());
  }
}

TEST(BufferCallback, AliasedResultStartsAsTheOperandWhichKeepsItsValue) {
  const auto twice = [](ExecutionContext&, std::span<Buffer> out, std::span<const Buffer> x) {
    EXPECT_EQ(x[0].data(), out[0].data());
    for (float& value : out[0].values<float>()) value *= 2;
  };
  const BufferCallback callback =
      buffer_callback(twice, {kVector}, {.input_output_aliases = {{0, 0}}});
  const Array x = vector();
  EXPECT_THAT(values<float>(callback({x})[0]), ElementsAre(2, 4, 6));
  EXPECT_THAT(values<float>(jit([&](const Array& x) { return callback({x})[0]; })(x)),
              ElementsAre(2, 4, 6));
  EXPECT_THAT(values<float>(x), ElementsAre(1, 2, 3));
}

TEST(BufferCallback, RunsAlsoWhenItsResultHasNoElements) {
  int count = 0;
  const BufferCallback callback = buffer_callback(
      [&](ExecutionContext&, std::span<Buffer> out, std::span<const Buffer>) {
        EXPECT_EQ(out[0].nbytes(), 0u);
        ++count;
      },
      {ShapeDtype(DType::kFloat32, {0, 2})});
  callback({});
  jit([&] { return callback({})[0]; })();
  EXPECT_EQ(count, 2);
}

TEST(BufferCallback, OnTheCpuThereIsNoStream) {
  const BufferCallback callback = buffer_callback([](ExecutionContext& context, std::span<Buffer>,
                                                     std::span<const Buffer>) { context.stream(); },
                                                  {kVector});
  EXPECT_THAT(error_of(ErrorCode::kFailedPrecondition, [&] { callback({vector()}); }),
              HasSubstr("GPU context is not available"));
}

TEST(BufferCallback, RefusesAliasesThatDoNotFit) {
  const Array x = vector();
  const auto error = [&](std::map<int64_t, int64_t> aliases) {
    return error_of(ErrorCode::kInvalidArgument, [&] {
      adding_one({.name = "f", .input_output_aliases = std::move(aliases)})({x});
    });
  };
  EXPECT_THAT(error({{1, 0}}), HasSubstr("f: input_output_aliases contains the mapping '1:0' with "
                                         "input index 1 outside the range [0, 1)"));
  EXPECT_THAT(error({{0, -1}}), HasSubstr("output index -1 outside the range [0, 1)"));
  const BufferCallback wider = buffer_callback(add_one, {ShapeDtype(DType::kFloat64, {3})},
                                               {.input_output_aliases = {{0, 0}}});
  EXPECT_THAT(error_of(ErrorCode::kInvalidArgument, [&] { wider({x}); }),
              HasSubstr("referring to an input of f32[3] and an output of f64[3]"));
}

// ---- results and exceptions ----

TEST(PureCallback, ResultsAreCheckedAgainstWhatWasDeclared) {
  const Array x = vector();
  const auto error = [&](ArrayFunction function) {
    return error_of(ErrorCode::kInvalidArgument, [&] {
      pure_callback(function, {kVector}, {&x, 1}, {.name = "f"});
    });
  };
  EXPECT_EQ(error([](Inputs) { return Arrays{Array::of<float>({1})}; }),
            "pure_callback f: result 0 was declared as f32[3], but the function returned f32[1]. "
            "Return what was declared, or declare what is returned");
  EXPECT_THAT(error([](Inputs) {
                return Arrays{Array::of<double>({1, 2, 3})};
              }),
              HasSubstr("declared as f32[3], but the function returned f64[3]"));
  EXPECT_THAT(error([](Inputs) { return Arrays{}; }),
              HasSubstr("the function returned 0 results, 1 were declared"));
}

struct Trouble : std::runtime_error {
  Trouble() : std::runtime_error("trouble") {}
};

TEST(PureCallback, ExceptionsKeepTheirTypeOnEveryCallAndHarmNothing) {
  bool fails = true;
  const auto f = jit([&](const Array& x) {
    return pure_callback(
        [&](Inputs in) {
          if (fails) throw Trouble();
          return Arrays{in[0]};
        },
        {kVector}, {&x, 1})[0];
  });
  for (int i = 0; i < 3; ++i) EXPECT_THROW(f(vector()), Trouble);
  fails = false;
  EXPECT_THAT(values<float>(f(vector())), ElementsAre(1, 2, 3));
}

TEST(PureCallback, IsNotCalledForResultsThatNobodyReads) {
  int count = 0;
  jit([&](const Array& x) {
    pure_callback(
        [&](Inputs in) {
          ++count;
          return Arrays{in[0]};
        },
        {kVector}, {&x, 1});
    return x;
  })(vector());
  EXPECT_EQ(count, 0);
}

// ---- order ----

TEST(IoCallback, KeepsProgramOrderThroughLoopsBranchesAndCalls) {
  Log log;
  const auto inner = jit([&](const Array& x) { return log.io(x); });
  const auto f = jit([&](const Array& x) {
    log.io(x);
    const auto scanned = lax::scan(
        [&](Inputs c, Inputs x) {
          return lax::LoopResults{{log.io(c[0] + x[0])}, {}};
        },
        {&x, 1}, Arrays{Array::of<float>({10, 20})});
    const auto looped =
        lax::while_loop([](Inputs c) { return Arrays{c[0] < 100.0}; },
                        [&](Inputs c) { return Arrays{log.io(c[0] * 2.0)}; }, scanned.carry);
    const auto chosen = lax::cond(
        looped[0] > 0.0, [&](Inputs c) { return Arrays{log.io(c[0] + 0.5)}; },
        [&](Inputs c) { return Arrays{log.io(c[0] - 0.5)}; }, looped);
    return inner(chosen[0]);
  });
  for (int i = 0; i < 2; ++i) {
    log.seen.clear();
    f(Array::scalar(1.f));
    EXPECT_THAT(log.seen, ElementsAre(1, 11, 31, 62, 124, 124.5, 124.5));
  }
}

TEST(IoCallback, UnderVmapIsCalledForOneElementAfterTheOther) {
  Log log;
  const Array x = vector();
  const int64_t axes[] = {0};
  const auto f = [&](CallbackOptions options) {
    return batch([&](Inputs in) { return Arrays{log.io(in[0], options)}; }, {&x, 1}, axes,
                 {3, "i"});
  };
  EXPECT_THAT(values<float>(f({}).outputs[0]), ElementsAre(1, 2, 3));
  EXPECT_THAT(log.seen, ElementsAre(1, 2, 3));
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [&] { f({.name = "f", .is_ordered = true}); }),
            "io_callback f: cannot vmap an ordered callback over the mapped axis \"i\" of size 3: "
            "the order of its effects would be lost. Ask for one element after the other with "
            "vmap_method=\"sequential\", or give ordered=False");
  f({.is_ordered = true, .vmap_method = "sequential"});
  EXPECT_THAT(log.seen, ElementsAre(1, 2, 3, 1, 2, 3));
}

// Elements whose loop has ended, or that take the other branch, do not call the function.
TEST(IoCallback, BatchedDecisionsFireForTheirOwnElementsAlone) {
  Log log;
  const Array limits = Array::of<float>({0, 2, 1});
  const int64_t axes[] = {0};
  const Arrays zero{Array::scalar(0.f)};
  const auto loop = [&](Inputs limit) {
    return lax::while_loop([&](Inputs c) { return Arrays{c[0] < limit[0]}; },
                           [&](Inputs c) {
                             log.io(c[0] + limit[0] * 10.0, {});
                             return Arrays{c[0] + 1.0};
                           },
                           zero);
  };
  EXPECT_THAT(values<float>(batch(loop, {&limits, 1}, axes, {3, {}}).outputs[0]),
              ElementsAre(0, 2, 1));
  EXPECT_THAT(log.seen, ElementsAre(20, 21, 10));

  log.seen.clear();
  const auto branch = [&](Inputs x) {
    return lax::cond(
        x[0] > 0.5, [&](Inputs x) { return Arrays{log.io(x[0], {})}; },
        [](Inputs x) { return Arrays{x[0] - 1.0}; }, x);
  };
  EXPECT_THAT(values<float>(batch(branch, {&limits, 1}, axes, {3, {}}).outputs[0]),
              ElementsAre(-1, 2, 1));
  EXPECT_THAT(log.seen, ElementsAre(2, 1));

  const auto ordered = [&](Inputs x) {
    return lax::cond(
        x[0] > 0.5, [&](Inputs x) { return Arrays{log.io(x[0])}; },
        [](Inputs x) { return Arrays{x[0]}; }, x);
  };
  EXPECT_THAT(error_of(ErrorCode::kInvalidArgument,
                       [&] {
                         batch(ordered, {&limits, 1}, axes, {3, "lane"});
                       }),
              HasSubstr("cond: vmap over the mapped axis \"lane\" of size 3 makes the decision "
                        "differ between the elements, and a branch calls io_callback callback, "
                        "which is ordered"));
}

// ---- transformations ----

TEST(BufferCallback, VmapMethodsSayWhatTheFunctionSees) {
  const Array x = numpy::reshape(Array::of<float>({1, 2, 3, 4, 5, 6}), Shape{2, 3});
  const int64_t axes[] = {0};
  for (const std::string method :
       {"sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized"}) {
    std::vector<Shape> shapes;
    const BufferCallback callback = buffer_callback(
        [&](ExecutionContext& context, std::span<Buffer> out, std::span<const Buffer> in) {
          shapes.emplace_back(in[0].shape().begin(), in[0].shape().end());
          add_one(context, out, in);
        },
        {kVector}, {.vmap_method = method});
    const auto batched = batch([&](Inputs in) { return callback(in); }, {&x, 1}, axes, {2, {}});
    EXPECT_THAT(values<float>(batched.outputs[0]), ElementsAre(2, 3, 4, 5, 6, 7));
    const bool at_once = method.find("sequential") == std::string::npos;
    EXPECT_EQ(shapes, (at_once ? std::vector<Shape>{{2, 3}} : std::vector<Shape>{{3}, {3}}))
        << method;
  }
  EXPECT_THAT(error_of(ErrorCode::kUnimplemented,
                       [&] {
                         const BufferCallback callback = adding_one({.name = "f"});
                         batch([&](Inputs in) { return callback(in); }, {&x, 1}, axes, {2, {}});
                       }),
              HasSubstr("buffer_callback f: vmap needs a vmap_method, and none was given"));
}

TEST(Callbacks, DifferentiationNamesTheRemedyAndDebuggingSeesValues) {
  const Arrays x{vector()}, t{vector()};
  const BufferCallback callback = adding_one({.name = "f"});
  const std::string error = error_of(ErrorCode::kInvalidArgument,
                                     [&] { jvp([&](Inputs in) { return callback(in); }, x, t); });
  EXPECT_THAT(error, HasSubstr("buffer_callback f: callbacks do not support differentiation"));
  EXPECT_THAT(error, HasSubstr("custom_jvp or custom_vjp"));

  Log log;
  const Array two = Array::scalar(2.f), one = Array::scalar(1.f);
  const auto square = [&](Inputs in) {
    log.debug(in[0]);
    return Arrays{in[0] * in[0]};
  };
  const Linearized linear = linearize(square, {&two, 1}, {true});
  EXPECT_EQ(linear.derivative->transpose({&one, 1})[0].item<float>(), 4);
  EXPECT_THAT(log.seen, ElementsAre(2));
}

TEST(Callbacks, MayUseTheLibraryAtAnyDepthWhateverIsBeingTransformed) {
  std::function<Array(const Array&, int)> f = [&](const Array& x, int depth) {
    if (depth == 0) return x * 2.0;
    return pure_callback(
        [&f, depth](Inputs in) {
          return Arrays{jit([&](const Array& y) { return f(y, depth - 1) + 1.0; })(in[0])};
        },
        {kVector}, {&x, 1}, {.vmap_method = "sequential"})[0];
  };
  EXPECT_THAT(values<float>(f(vector(), 5)), ElementsAre(7, 9, 11));
  const Array rows = numpy::reshape(Array::of<float>({1, 2, 3, 4, 5, 6}), Shape{2, 3});
  const int64_t axes[] = {0};
  const auto batched =
      batch([&](Inputs in) { return Arrays{f(in[0], 2)}; }, {&rows, 1}, axes, {2, {}});
  EXPECT_THAT(values<float>(batched.outputs[0]), ElementsAre(4, 6, 8, 10, 12, 14));
}

// ---- threads, lifetimes, programs ----

TEST(Callbacks, AreCalledFromManyThreadsAtOnce) {
  std::atomic<int> count = 0;
  const auto f = jit([&](const Array& x) {
    return pure_callback(
        [&](Inputs in) {
          ++count;
          return Arrays{in[0] + 1.0};
        },
        {kVector}, {&x, 1})[0];
  });
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const auto base = static_cast<float>(t);
      const Array x = Array::of<float>({base, base, base});
      for (int i = 0; i < 200; ++i) {
        if (values<float>(f(x)) != std::vector<float>(3, base + 1)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(count, 1600);
}

TEST(Callbacks, FunctionsDieWithTheProgramsThatCallThem) {
  auto held = std::make_shared<int>(0);
  const std::weak_ptr<int> watch = held;
  const Array x = vector();
  {
    const BufferCallback callback = buffer_callback(
        [held = std::move(held)](ExecutionContext& context, std::span<Buffer> out,
                                 std::span<const Buffer> in) { add_one(context, out, in); },
        {kVector}, {.vmap_method = "sequential"});
    callback({x});
    jit([&](const Array& x) { return callback({x})[0]; })(x);
    const Array rows = numpy::reshape(x, Shape{1, 3});
    const int64_t axes[] = {0};
    batch([&](Inputs in) { return callback(in); }, {&rows, 1}, axes, {1, {}});
  }
  EXPECT_TRUE(watch.expired());
}

TEST(Callbacks, ProgramsReadBackWhileTheFunctionLivesAndAreNotSaved) {
  std::string text;
  {
    const BufferCallback callback = adding_one({.name = "f"});
    const ProgramPtr program = record([&](Inputs in) { return callback(in); }, {&kVector, 1}, "g");
    text = to_text(*program);
    EXPECT_THAT(text, HasSubstr("callback=\"f#"));
    EXPECT_EQ(*parse_program(text), *program);
    EXPECT_THAT(values<float>(evaluate(*parse_program(text), Arrays{vector()})[0]),
                ElementsAre(2, 3, 4));
    EXPECT_THAT(error_of(ErrorCode::kInvalidArgument, [&] { serialize_program(*program); }),
                HasSubstr("buffer_callback f is a function of this process and cannot be saved"));
  }
  EXPECT_THAT(error_of(ErrorCode::kInvalidArgument, [&] { parse_program(text); }),
              HasSubstr("no function of this process has this name and number"));
}

TEST(Callbacks, AnEmptyFunctionIsRefusedWhenItIsGiven) {
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [] { buffer_callback({}, {}); }),
            "buffer_callback callback: the function is empty");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [] { pure_callback({}, {}, {}); }),
            "pure_callback callback: the function is empty");
}

TEST(Callbacks, NumbersTakeTheDeclaredDtypeAndNullArraysAreRefused) {
  const std::vector<ShapeDtype> type = {ShapeDtype(DType::kFloat64, {})};
  const auto half = [](std::span<const Array>) { return std::vector<Array>{0.5}; };
  EXPECT_EQ(pure_callback(half, type, {})[0].item<double>(), 0.5);
  const auto nothing = [](std::span<const Array>) { return std::vector<Array>(1); };
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [&] { pure_callback(nothing, type, {}); }),
            "pure_callback callback: result 0 was declared as f64[], but the function returned an "
            "empty Array");
}

TEST(Callbacks, MovedFromTheyStayUsable) {
  auto call = buffer_callback([](ExecutionContext&, std::span<Buffer> out,
                                 std::span<const Buffer>) { out[0].values<float>()[0] = 7; },
                              {ShapeDtype(DType::kFloat32, {})});
  const auto moved = std::move(call);
  EXPECT_EQ(call({})[0].item<float>(), 7);
}

TEST(DebugPrint, WritesALineForEachExecution) {
  const auto f = jit([](const Array& x) {
    debug::print("x = {:.1f} of {}", {x, Array::of<int32_t>({1, 2})});
    return x;
  });
  ::testing::internal::CaptureStdout();
  f(Array::scalar(1.25f));
  f(Array::scalar(2.f));
  effects_barrier();
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "x = 1.2 of [1, 2]\nx = 2.0 of [1, 2]\n");
  EXPECT_THAT(error_of(ErrorCode::kInvalidArgument, [] { debug::print("{} {}", {1.f}); }),
              HasSubstr("debug::print: format \"{} {}\" with 1 operands"));
}

// ---- interrupts ----

TEST(Interrupt, EndsALongLoopAndLeavesItsProgramUsable) {
  static std::atomic<bool> is_wanted;
  is_wanted = true;
  set_interrupt_check([] {
    if (is_wanted) throw Trouble();
  });
  const auto f = jit([](const Array& limit) {
    return lax::while_loop([&](Inputs c) { return Arrays{c[0] < limit}; },
                           [](Inputs c) { return Arrays{c[0] + 1.0}; },
                           Arrays{Array::scalar(0.0)})[0];
  });
  EXPECT_THROW(f(Array::scalar(1e12)), Trouble);
  is_wanted = false;
  EXPECT_EQ(f(Array::scalar(10.0)).item<double>(), 10);
  set_interrupt_check(nullptr);
}

}  // namespace
}  // namespace farcall
