// Foreign calls inside programs: results, effects, tokens, errors.
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/ops/control_flow.h>
#include <farcall/program/text.h>
#include <farcall/trace/interpreter.h>

#include "calls.h"

namespace farcall::native {
namespace {

using testing::add_one;
using testing::Call;
using ::testing::ElementsAre;
using testing::f32;
using testing::floats;
using ::testing::HasSubstr;

const ShapeDtype kToken(DType::kToken, {});

TEST(ForeignCall, BetweenOperations) {
  const auto f = jit([](const Array& x) {
    return lax::mul(testing::call(add_one(), {lax::neg(x)}, f32({3})), x);
  });
  for (int run = 0; run < 3; ++run) {
    EXPECT_THAT(floats(f(Array::of<float>({1, 2, 3}))), ElementsAre(0, -2, -6));
  }
}

TEST(ForeignCall, SeveralResults) {
  const auto f = jit([](const Array& x, const Array& y) {
    return FfiCall(add_one(), {f32({2}), f32({1})})({x, y});
  });
  const auto results = f(Array::of<float>({1, 2}), Array::of<float>({5}));
  EXPECT_THAT(floats(results[0]), ElementsAre(2, 3));
  EXPECT_THAT(floats(results[1]), ElementsAre(6));
}

TEST(ForeignCall, AResultThatNobodyReadsHasMemory) {
  const auto f = jit([](const Array& x) {
    return FfiCall(add_one(), {f32({2}), f32({2})})({x, x})[1];
  });
  EXPECT_THAT(floats(f(Array::of<float>({1, 2}))), ElementsAre(2, 3));
}

TEST(ForeignCall, ALiteralAndAConstantAsOperands) {
  const Array constant = Array::of<float>({5, 6});
  const auto f = jit([&](const Array& x) {
    return std::tuple(testing::call(add_one(), {Array::scalar(1.f)}, f32({})),
                      testing::call(add_one(), {constant}, f32({2})), x);
  });
  const auto [a, b, c] = f(Array::of<float>({0}));
  EXPECT_THAT(floats(a), ElementsAre(2));
  EXPECT_THAT(floats(b), ElementsAre(6, 7));
}

TEST(ForeignCall, AWeakScalarIsAScalarOfItsDtype) {
  const Array eager = testing::call(add_one(), {Array(1.5)}, f32({}));
  EXPECT_EQ(eager.type(), f32({}));
  EXPECT_EQ(eager.item<float>(), 2.5f);
  const auto f = jit([](const Array& x) { return testing::call(add_one(), {x}, f32({})); });
  EXPECT_EQ(f(Array(1.5)).item<float>(), 2.5f);
}

TEST(ForeignCall, EveryPointerIsAligned) {
  static const std::string name = testing::add_target([](Call call) -> FARCALL_FFI_Error* {
    for (size_t i = 0; i < call.num_arguments(); ++i) {
      if (!is_aligned(call.argument(i).data)) {
        return call.fail(FARCALL_FFI_Error_Code_INTERNAL, "an argument is not aligned");
      }
    }
    for (size_t i = 0; i < call.num_results(); ++i) {
      if (!is_aligned(call.result(i).data)) {
        return call.fail(FARCALL_FFI_Error_Code_INTERNAL, "a result is not aligned");
      }
      call.out(i)[0] = call.in(i)[0];
    }
    return nullptr;
  });
  // Borrowed memory, one float past an aligned address.
  alignas(64) static float memory[32] = {0, 41, 42};
  const Array borrowed(f32({1}), Storage::adopt(memory + 1, 4, nullptr, nullptr));
  const auto f = jit([&](const Array& x) {
    const FfiCall call(name, {f32({1}), f32({1}), f32({1})});
    auto first = call({x, borrowed, lax::neg(x)});
    return call({first[0], x, first[2]});
  });
  for (int run = 0; run < 2; ++run) {
    memory[1] = 41.f + static_cast<float>(run);
    const auto results = f(borrowed);
    EXPECT_THAT(floats(results[1]), ElementsAre(memory[1]));
    EXPECT_THAT(floats(results[2]), ElementsAre(-memory[1]));
  }
}

TEST(ForeignCall, ZeroSizedAndHighRankBuffers) {
  static const std::string name = testing::add_target([](Call call) -> FARCALL_FFI_Error* {
    *call.out(0) = static_cast<float>(call.argument(0).rank);
    for (int64_t i = 0; i < call.argument(0).rank; ++i) {
      *call.out(0) += 100 * static_cast<float>(call.argument(0).dims[i]);
    }
    return nullptr;
  });
  const auto rank_of = [](const Array& x) { return testing::call(name, {x}, f32({})); };
  EXPECT_EQ(rank_of(numpy::zeros(Shape{0, 3})).item<float>(), 302);
  EXPECT_EQ(rank_of(numpy::zeros(Shape(16, 1))).item<float>(), 1616);
  EXPECT_EQ(jit(rank_of)(numpy::zeros(Shape{4, 0})).item<float>(), 402);
  EXPECT_EQ(testing::call(add_one(), {numpy::zeros(Shape{0})}, f32({0})).size(), 0);
}

// ---- effects ----

TEST(Effects, RunExactlyOnceForEachExecution) {
  static int runs;
  runs = 0;
  static const std::string name = testing::add_target([](Call) -> FARCALL_FFI_Error* {
    ++runs;
    return nullptr;
  });
  const FfiCallOptions with_effect = {.has_side_effect = true};
  const auto f = jit([&](const Array& x) {
    FfiCall(name, {}, with_effect)({x});
    FfiCall(name, {f32({2})}, with_effect)({x});
    FfiCall(name, {f32({2})}, with_effect)({x});  // equal to the previous call, but not merged
    FfiCall(name, {f32({2})})({x});               // no effect and no readers
    return x;
  });
  for (int execution = 1; execution <= 3; ++execution) {
    f(Array::of<float>({1}));
    EXPECT_EQ(runs, 3 * execution);
  }
}

TEST(Effects, KeepTheirOrder) {
  static std::string order;
  order.clear();
  const auto letter = [](const char* text) {
    return testing::add_target([text](Call) -> FARCALL_FFI_Error* {
      order += text;
      return nullptr;
    });
  };
  const std::string a = letter("a"), b = letter("b"), c = letter("c");
  const auto f = jit([&](const Array& x) {
    for (const std::string& name : {a, b, c, a}) FfiCall(name, {}, {.has_side_effect = true})({x});
    return x;
  });
  f(Array::of<float>({1}));
  f(Array::of<float>({2}));
  EXPECT_EQ(order, "abcaabca");
}

TEST(Tokens, AreMadePassedOnAndReturned) {
  static std::string order;
  order.clear();
  static const std::string name = testing::add_target([](Call call) -> FARCALL_FFI_Error* {
    order += static_cast<char>('a' + static_cast<int>(call.in(1)[0]));
    return nullptr;
  });
  const auto f = jit([&](const Array& x) {
    const FfiCall call(name, {kToken});
    Array token = lax::create_token();
    for (int i = 0; i < 3; ++i) token = call({token, lax::add(x, Array::scalar(float(i)))})[0];
    return token;
  });
  const Array token = f(Array::scalar(0.f));
  EXPECT_EQ(token.type(), kToken);
  EXPECT_EQ(order, "abc");
  // A token from one program orders the next program.
  EXPECT_TRUE(FfiCall(name, {kToken})({token, Array::scalar(3.f)})[0].type().is_token());
  EXPECT_EQ(order, "abcd");
}

// ---- errors ----

TEST(CallErrors, AFailureLeavesEverythingUsable) {
  static const std::string name = testing::add_target([](Call call) -> FARCALL_FFI_Error* {
    if (call.in(0)[0] < 0) return call.fail(FARCALL_FFI_Error_Code_OUT_OF_RANGE, "below zero");
    if (call.in(0)[0] > 9) throw std::runtime_error("above nine");
    call.out(0)[0] = call.in(0)[0];
    return nullptr;
  });
  const auto f =
      jit([](const Array& x) { return lax::neg(testing::call(name, {lax::neg(x)}, f32({1}))); });
  for (int round = 0; round < 3; ++round) {
    EXPECT_THAT(floats(f(Array::of<float>({-4}))), ElementsAre(-4));
    try {
      f(Array::of<float>({4}));
      FAIL() << "no error";
    } catch (const FfiError& error) {
      EXPECT_EQ(error.code(), ErrorCode::kOutOfRange);
      EXPECT_EQ(error.target_name(), name);
      EXPECT_EQ(error.detail(), "below zero");
    }
    // Exceptions of C++ callables propagate unchanged.
    EXPECT_THROW(f(Array::of<float>({-14})), std::runtime_error);
  }
}

TEST(CallErrors, TheSameClassEachTime) {
  static const std::string name = testing::add_target(
      [](Call call) { return call.fail(FARCALL_FFI_Error_Code_DATA_LOSS, "lost"); });
  const auto f = jit([](const Array& x) { return testing::call(name, {x}, f32({1})); });
  std::string first;
  for (int run = 0; run < 3; ++run) {
    try {
      f(Array::of<float>({1}));
      FAIL() << "no error";
    } catch (const FfiError& error) {
      if (run == 0) first = error.message();
      EXPECT_EQ(error.message(), first);
      EXPECT_THAT(error.message(), HasSubstr("DATA_LOSS"));
      EXPECT_THAT(error.message(), HasSubstr(name));
    }
  }
}

TEST(CallErrors, ATargetThatIsNotThere) {
  const auto f = jit([](const Array& x) { return testing::call("tset_target", {x}, f32({1})); });
  for (int run = 0; run < 2; ++run) {
    const std::string message =
        testing::error_of(ErrorCode::kNotFound, [&] { f(Array::of<float>({1})); });
    EXPECT_THAT(message, HasSubstr("tset_target"));
    EXPECT_THAT(message, HasSubstr("cpu"));
  }
}

TEST(CallErrors, FromCompilingNameTheUsersLineOnce) {
  set_location_provider([]() -> SourceLocationPtr {
    return std::make_shared<const SourceLocation>(SourceLocation{"model.cpp", 7, "forward"});
  });
  const auto f = jit([](const Array& x) { return testing::call("not_there", {x}, f32({1})); });
  const std::string jitted =
      testing::error_of(ErrorCode::kNotFound, [&] { f(Array::of<float>({1})); });
  const std::string eager = testing::error_of(
      ErrorCode::kNotFound, [&] { testing::call("not_there", {Array::of<float>({1})}, f32({1})); });
  set_location_provider(nullptr);
  for (const std::string& message : {jitted, eager}) {
    const std::string line = "\n  at model.cpp:7 (forward)";
    const size_t at = message.find(line);
    EXPECT_NE(at, std::string::npos) << message;
    EXPECT_EQ(message.find("  at ", at + line.size()), std::string::npos) << message;
  }
}

TEST(CallErrors, OptionsThatTextMayHold) {
  // The parser accepts programs that FfiCall would not build.
  const auto compile = [](const std::string& version, const std::string& config) {
    return testing::compile(
        parse_program("{ lambda ; a:f32[1]. let b:f32[1] = ffi_call["
                      "attributes={} batched_operands=() custom_call_api_version=" +
                      version +
                      " has_side_effect=False input_layouts=(None,) "
                      "input_output_aliases=() legacy_backend_config=" +
                      config +
                      " output_layouts=(None,) result_types=(f32[1],) "
                      "target_name=" +
                      add_one() + " vmap_method=None] a in (b,) }"));
  };
  compile("4", "None");
  EXPECT_THROW(compile("9", "None"), Error);
  EXPECT_THROW(compile("1", "None"), Error);
  EXPECT_THROW(compile("4", "abc"), Error);
}

TEST(CallErrors, OneInputCannotGoToTwoOutputs) {
  EXPECT_THAT(
      testing::error_of(ErrorCode::kInvalidArgument,
                        [] {
                          parse_program(
                              "{ lambda ; a:f32[1]. let b:f32[1] c:f32[1] = ffi_call["
                              "attributes={} batched_operands=() custom_call_api_version=4 "
                              "has_side_effect=False input_layouts=(None,) "
                              "input_output_aliases=((0, 0), (0, 1)) "
                              "legacy_backend_config=None output_layouts=(None, None) "
                              "result_types=(f32[1], f32[1]) target_name=f vmap_method=None] a "
                              "in (b, c) }");
                        }),
      HasSubstr("but input 0 is named twice"));
}

TEST(ForeignCall, CallsProgramsItself) {
  // A handler that runs compiled programs, including the one that called it.
  static std::function<Array(const Array&)> function;
  static const std::string name = testing::add_target([](Call call) -> FARCALL_FFI_Error* {
    const float n = call.in(0)[0];
    call.out(0)[0] = n <= 0 ? 0 : n + function(Array::scalar(n - 1)).item<float>();
    return nullptr;
  });
  function = jit([](const Array& x) { return testing::call(name, {x}, f32({})); });
  EXPECT_EQ(function(Array::scalar(40.f)).item<float>(), 820);
  function = nullptr;
}

TEST(ForeignCall, OneCallTakesAnyNumberOfOperands) {
  const FfiCall call(testing::add_one(), {f32({1})});
  const Array x = Array::of<float>({1}), y = Array::of<float>({5});
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(floats(call({x})[0]), (std::vector<float>{2}));
    EXPECT_EQ(floats(call({y, x})[0]), (std::vector<float>{6}));
  }
}

// Front ends keep their lock only during short programs; the duration of foreign code is unknown.
TEST(ForeignCall, AProgramWithForeignCodeIsNotBrief) {
  const ShapeDtype types[] = {f32({1})};
  const auto may_keep_lock = [&](const FlatFunction& f) {
    return testing::compile(record(f, types))->may_keep_lock();
  };
  EXPECT_TRUE(may_keep_lock([](auto x) { return std::vector<Array>{lax::neg(x[0])}; }));
  EXPECT_FALSE(may_keep_lock([](auto x) {
    return std::vector<Array>{testing::call(testing::add_one(), {x[0]}, f32({1}))};
  }));
}

TEST(Cost, OfLoopsInLoopsStaysTheLargestNumber) {
  FlatFunction f = [](std::span<const Array> x) { return std::vector<Array>{lax::sin(x[0])}; };
  for (int depth = 0; depth < 4; ++depth) {
    f = [inner = f](std::span<const Array> x) {
      const lax::ScanBody body = [&](std::span<const Array> carry, std::span<const Array>) {
        return lax::LoopResults{inner(carry), {}};
      };
      return lax::scan(body, x, {}, {.length = 1'000'000}).carry;
    };
  }
  const ShapeDtype types[] = {f32({1})};
  const ProgramPtr program = record(f, types);
  EXPECT_EQ(program->cost().flops, INT64_MAX);
  EXPECT_EQ(program->cost().bytes, INT64_MAX);
  EXPECT_FALSE(testing::compile(program)->may_keep_lock());
}

}  // namespace
}  // namespace farcall::native
