// Aliases: the output lies in the input's memory, the caller's array never changes, and only
// necessary copies are made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/ops/control_flow.h>

#include "calls.h"

namespace farcall::native {
namespace {

using testing::Call;
using ::testing::ElementsAre;
using testing::f32;
using testing::floats;
using testing::plan_of;

const FfiCallOptions kAliased = {.input_output_aliases = {{0, 0}}};

// Adds one in place: reads only the output's memory and requires that it is shared.
const std::string& in_place() {
  static const std::string name = testing::add_target([](Call call) -> FARCALL_FFI_Error* {
    if (call.argument(0).data != call.result(0).data) {
      return call.fail(FARCALL_FFI_Error_Code_INTERNAL, "the alias was not honoured");
    }
    for (size_t i = 0; i < Call::size(call.result(0)); ++i) call.out(0)[i] += 1;
    return nullptr;
  });
  return name;
}

Array increment(const Array& x, const FfiCallOptions& options = kAliased) {
  return FfiCall(in_place(), {x.type().strengthened()}, options)({x})[0];
}

int64_t copies(const FlatFunction& function, std::initializer_list<ShapeDtype> inputs) {
  return plan_of(function, inputs)->statistics.alias_copies;
}

TEST(Alias, TheCallersArrayDoesNotChange) {
  const Array x = Array::of<float>({1, 2});
  EXPECT_THAT(floats(increment(x)), ElementsAre(2, 3));
  EXPECT_THAT(floats(x), ElementsAre(1, 2));
  EXPECT_EQ(copies([](auto x) { return std::vector<Array>{increment(x[0])}; }, {f32({2})}), 1);
}

TEST(Alias, AnIntermediateThatDiesIsTakenOver) {
  const FlatFunction function = [](std::span<const Array> x) {
    return std::vector<Array>{increment(lax::neg(x[0]))};
  };
  const auto plan = plan_of(function, {f32({2})});
  EXPECT_EQ(plan->statistics.alias_copies, 0);
  EXPECT_EQ(plan->arena_bytes, 0u);  // even the intermediate value lies in the output
  const auto f = jit([](const Array& x) { return increment(lax::neg(x)); });
  EXPECT_THAT(floats(f(Array::of<float>({1, 2}))), ElementsAre(0, -1));
}

TEST(Alias, AChainOfCallsNeedsOneCopyOfTheInput) {
  EXPECT_EQ(copies(
                [](std::span<const Array> x) {
                  Array y = x[0];
                  for (int i = 0; i < 10; ++i) y = increment(y);
                  return std::vector<Array>{y};
                },
                {f32({2})}),
            1);
}

TEST(Alias, AnIntermediateThatIsReadLaterIsCopiedOnce) {
  const auto body = [](const Array& x) {
    const Array y = lax::neg(x);
    const Array z = increment(y);
    return std::tuple(lax::add(y, z), z);
  };
  EXPECT_EQ(copies([&](auto x) { return std::vector<Array>{std::get<0>(body(x[0]))}; }, {f32({2})}),
            1);
  const auto [sum, z] = jit(body)(Array::of<float>({1, 2}));
  EXPECT_THAT(floats(sum), ElementsAre(-1, -3));
  EXPECT_THAT(floats(z), ElementsAre(0, -1));
}

TEST(Alias, AnIntermediateThatWasReadBeforeIsTakenOver) {
  EXPECT_EQ(copies(
                [](std::span<const Array> x) {
                  const Array y = lax::neg(x[0]);
                  const Array before = lax::exp(y);
                  return std::vector<Array>{increment(y), before};
                },
                {f32({2})}),
            0);
}

TEST(Alias, AnOutputOfTheProgramIsCopied) {
  const auto body = [](const Array& x) {
    const Array y = lax::neg(x);
    return std::tuple(y, increment(y));
  };
  EXPECT_EQ(copies(
                [&](std::span<const Array> x) {
                  auto [y, z] = body(x[0]);
                  return std::vector<Array>{y, z};
                },
                {f32({2})}),
            1);
  const auto [y, z] = jit(body)(Array::of<float>({1, 2}));
  EXPECT_THAT(floats(y), ElementsAre(-1, -2));
  EXPECT_THAT(floats(z), ElementsAre(0, -1));
}

TEST(Alias, AConstantIsCopied) {
  const Array constant = Array::of<float>({5, 6});
  const auto f = jit([&](const Array& x) { return std::tuple(increment(constant), lax::neg(x)); });
  for (int run = 0; run < 3; ++run) {
    EXPECT_THAT(floats(std::get<0>(f(Array::of<float>({0})))), ElementsAre(6, 7));
  }
  EXPECT_THAT(floats(constant), ElementsAre(5, 6));
}

TEST(Alias, ALiteralIsCopied) {
  const auto f = jit([](const Array& x) {
    const Array two = Array::scalar(2.f);
    return std::tuple(increment(two), lax::add(x, two));
  });
  for (int run = 0; run < 3; ++run) {
    const auto [three, sum] = f(Array::of<float>({1}));
    EXPECT_THAT(floats(three), ElementsAre(3));
    EXPECT_THAT(floats(sum), ElementsAre(3));
  }
}

TEST(Alias, AReshapeSharesItsOperandsMemory) {
  const auto body = [](const Array& x) {
    const Array y = lax::neg(x);
    const Array flat = numpy::ravel(y);
    const Array result = increment(flat);
    return std::tuple(result, lax::exp(y));  // y is read afterwards
  };
  EXPECT_EQ(copies(
                [&](std::span<const Array> x) {
                  auto [a, b] = body(x[0]);
                  return std::vector<Array>{a, b};
                },
                {f32({1, 2})}),
            1);
  const auto [incremented, exp] = jit(body)(testing::array_of({0, 0}, {1, 2}));
  EXPECT_THAT(floats(incremented), ElementsAre(1, 1));
  EXPECT_THAT(floats(exp), ElementsAre(1, 1));

  // The reshaped value is not read afterwards, so its memory is reused.
  EXPECT_EQ(copies(
                [](std::span<const Array> x) {
                  return std::vector<Array>{increment(numpy::ravel(lax::neg(x[0])))};
                },
                {f32({1, 2})}),
            0);
  // An input's memory belongs to the caller, whatever its shape.
  EXPECT_EQ(copies([](auto x) { return std::vector<Array>{increment(numpy::ravel(x[0]))}; },
                   {f32({1, 2})}),
            1);
}

TEST(Alias, AnOperandThatTheCallReadsOnceMoreIsCopied) {
  static const std::string name = testing::add_target([](Call call) -> FARCALL_FFI_Error* {
    call.out(0)[0] = call.in(0)[0] + 1;
    call.out(0)[1] = 10 * call.in(1)[0];  // the original value
    return nullptr;
  });
  const auto body = [](const Array& x) {
    const Array y = lax::neg(x);
    return FfiCall(name, {f32({2})}, kAliased)({y, y})[0];
  };
  EXPECT_EQ(copies([&](auto x) { return std::vector<Array>{body(x[0])}; }, {f32({2})}), 1);
  EXPECT_THAT(floats(jit(body)(Array::of<float>({3, 4}))), ElementsAre(-2, -30));
}

TEST(Alias, TheResultReshapedAndAliasedAgain) {
  const auto f = jit([](const Array& x) {
    const Array a = increment(lax::neg(x));
    const Array b = increment(numpy::reshape(a, Shape{2, 1}));
    return lax::add(b, b);
  });
  EXPECT_THAT(floats(f(Array::of<float>({1, 2}))), ElementsAre(2, 0));
}

// Two arguments, two results: adds 1 to the first and 10 to the second, in place.
const std::string& two_in_place() {
  static const std::string name = testing::add_target([](Call call) -> FARCALL_FFI_Error* {
    for (size_t r = 0; r < 2; ++r) {
      if (call.argument(r).data != call.result(r).data) {
        return call.fail(FARCALL_FFI_Error_Code_INTERNAL, "the alias was not honoured");
      }
      for (size_t i = 0; i < Call::size(call.result(r)); ++i) call.out(r)[i] += r == 0 ? 1 : 10;
    }
    return nullptr;
  });
  return name;
}

std::tuple<Array, Array> both(const Array& x, const Array& y) {
  auto results = FfiCall(two_in_place(), {f32({2}), f32({2})},
                         {.input_output_aliases = {{0, 0}, {1, 1}}})({x, y});
  return {results[0], results[1]};
}

TEST(Alias, TwoOfOneCall) {
  EXPECT_EQ(copies(
                [](std::span<const Array> x) {
                  auto [a, b] = both(lax::neg(x[0]), lax::exp(x[0]));
                  return std::vector<Array>{a, b};
                },
                {f32({2})}),
            0);
  const auto f = jit([](const Array& x) { return both(lax::neg(x), x); });
  const Array x = Array::of<float>({1, 2});
  const auto [a, b] = f(x);
  EXPECT_THAT(floats(a), ElementsAre(0, -1));
  EXPECT_THAT(floats(b), ElementsAre(11, 12));
  EXPECT_THAT(floats(x), ElementsAre(1, 2));
}

TEST(Alias, OneOperandTwice) {
  const FlatFunction function = [](std::span<const Array> x) {
    const Array y = lax::neg(x[0]);
    auto [a, b] = both(y, y);
    return std::vector<Array>{a, b};
  };
  EXPECT_EQ(copies(function, {f32({2})}), 1);
  const auto f = jit([](const Array& x) {
    const Array y = lax::neg(x);
    return both(y, y);
  });
  const auto [a, b] = f(Array::of<float>({1, 2}));
  EXPECT_THAT(floats(a), ElementsAre(0, -1));
  EXPECT_THAT(floats(b), ElementsAre(9, 8));
}

TEST(Alias, AnOperandThatIsAlsoReadPlainly) {
  // y is both the aliased operand and another operand, which must keep its values.
  static const std::string name = testing::add_target([](Call call) -> FARCALL_FFI_Error* {
    for (size_t i = 0; i < 2; ++i) call.out(0)[i] = 0;
    for (size_t i = 0; i < 2; ++i) call.out(0)[i] = call.in(1)[i] + 100;
    return nullptr;
  });
  const auto f = jit([](const Array& x) {
    const Array y = lax::neg(x);
    return FfiCall(name, {f32({2})}, kAliased)({y, y})[0];
  });
  EXPECT_THAT(floats(f(Array::of<float>({1, 2}))), ElementsAre(99, 98));
}

TEST(Alias, OneOperandTwiceAndPlainly) {
  static const std::string name = testing::add_target([](Call call) -> FARCALL_FFI_Error* {
    for (size_t i = 0; i < 2; ++i) call.out(0)[i] += 1;
    for (size_t i = 0; i < 2; ++i) call.out(1)[i] += 10 * call.in(2)[i];
    return nullptr;
  });
  const auto body = [](const Array& x) {
    const Array y = lax::neg(x);
    const auto results =
        FfiCall(name, {f32({2}), f32({2})}, {.input_output_aliases = {{0, 0}, {1, 1}}})({y, y, y});
    return std::tuple(results[0], results[1]);
  };
  EXPECT_EQ(copies(
                [&](std::span<const Array> x) {
                  auto [a, b] = body(x[0]);
                  return std::vector<Array>{a, b};
                },
                {f32({2})}),
            2);
  const auto [a, b] = jit(body)(Array::of<float>({1, 2}));
  EXPECT_THAT(floats(a), ElementsAre(0, -1));
  EXPECT_THAT(floats(b), ElementsAre(-11, -22));
}

// ---- branches ----

using Branch = std::function<std::vector<Array>(std::span<const Array>)>;

// The arguments are a predicate, then arrays whose negatives are the operands of the branches.
FlatFunction choice(const Branch& if_true, const Branch& if_false) {
  return [=](std::span<const Array> x) {
    std::vector<Array> operands;
    for (const Array& array : x.subspan(1)) operands.push_back(lax::neg(array));
    return lax::cond(x[0], if_true, if_false, operands);
  };
}

const ShapeDtype kPredicate(DType::kBool, {});
constexpr int64_t kFirst[] = {0};

void expect_choice(const FlatFunction& function, bool predicate,
                   const std::vector<std::vector<float>>& wanted) {
  const auto f = jit([&](const Array& p, const Array& a, const Array& b) {
    return function(std::vector<Array>{p, a, b});
  });
  const std::vector<Array> found =
      f(Array::scalar(predicate), Array::of<float>({1, 2}), Array::of<float>({3, 4}));
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(floats(found[i]), wanted[i]) << i;
}

TEST(Alias, ABranchTakesOverAnOperandThatDies) {
  const auto first = [](std::span<const Array> x) { return std::vector{increment(x[0])}; };
  const std::pair<Branch, std::vector<float>> others[] = {
      {[](std::span<const Array> x) { return std::vector{x[0]}; }, {-1, -2}},
      {[](std::span<const Array> x) { return std::vector{increment(increment(x[0]))}; }, {1, 0}},
      {[](std::span<const Array> x) { return std::vector{lax::exp(lax::sub(x[0], x[0]))}; },
       {1, 1}},
      {[](std::span<const Array>) { return std::vector{numpy::full({{2}}, 7.f)}; }, {7, 7}},
      {[](std::span<const Array> x) {  // a nested branch
         return lax::cond(
             lax::gt(numpy::sum(x[1]), Array::scalar(0.f)),
             [](std::span<const Array> a) { return std::vector{increment(a[0])}; },
             [](std::span<const Array> a) { return std::vector{a[0]}; },
             std::vector<Array>(x.begin(), x.end()));
       },
       {-1, -2}},
  };
  for (const auto& [other, wanted] : others) {
    const FlatFunction function = choice(first, other);
    EXPECT_EQ(copies(function, {kPredicate, f32({2}), f32({2})}), 0);
    expect_choice(function, true, {{0, -1}});
    expect_choice(function, false, {wanted});
  }
}

TEST(Alias, ABranchThatNeedsItsResultElsewhereCostsTheOtherACopy) {
  // The second branch still reads x[0] after it has computed the result that would overwrite it.
  const FlatFunction function = choice(
      [](std::span<const Array> x) {
        return std::vector{increment(x[0]), x[1]};
      },
      [](std::span<const Array> x) {
        return std::vector{lax::rev(x[0], kFirst), lax::add(x[0], x[1])};
      });
  EXPECT_EQ(copies(function, {kPredicate, f32({2}), f32({2})}), 1);
  expect_choice(function, true, {{0, -1}, {-3, -4}});
  expect_choice(function, false, {{-2, -1}, {-4, -6}});
}

TEST(Alias, BranchesThatSwapTheirOperands) {
  const FlatFunction function = choice(
      [](std::span<const Array> x) {
        return std::vector{increment(x[0]), x[1]};
      },
      [](std::span<const Array> x) {
        return std::vector{x[1], increment(x[0])};
      });
  expect_choice(function, true, {{0, -1}, {-3, -4}});
  expect_choice(function, false, {{-3, -4}, {0, -1}});
}

TEST(Alias, ABranchDoesNotTakeOverWhatIsNeededLater) {
  const FlatFunction function = [](std::span<const Array> x) {
    const Array y = lax::neg(x[1]);
    const Array z = lax::cond(
        x[0], [](std::span<const Array> a) { return std::vector{increment(a[0])}; },
        [](std::span<const Array> a) { return std::vector{a[0]}; }, std::vector{y})[0];
    return std::vector{z, lax::exp(lax::sub(y, y)), x[1]};
  };
  EXPECT_EQ(copies(function, {kPredicate, f32({2})}), 1);
  const Array x = Array::of<float>({1, 2});
  const std::vector<Array> found = jit([&](const Array& p, const Array& a) {
    return function(std::vector<Array>{p, a});
  })(Array::scalar(true), x);
  EXPECT_THAT(floats(found[0]), ElementsAre(0, -1));
  EXPECT_THAT(floats(found[1]), ElementsAre(1, 1));
  EXPECT_THAT(floats(x), ElementsAre(1, 2));
}

TEST(Alias, BranchesDoNotChangeTheCallersArrays) {
  const auto f = jit([](const Array& p, const Array& x) {
    return lax::cond(
        p, [](std::span<const Array> a) { return std::vector{increment(a[0])}; },
        [](std::span<const Array> a) { return std::vector{a[0]}; }, std::vector{x})[0];
  });
  const Array x = Array::of<float>({1, 2});
  EXPECT_THAT(floats(f(Array::scalar(true), x)), ElementsAre(2, 3));
  EXPECT_THAT(floats(f(Array::scalar(false), x)), ElementsAre(1, 2));
  EXPECT_THAT(floats(x), ElementsAre(1, 2));
}

TEST(Alias, ABranchInALoopWorksOnTheCarry) {
  const FlatFunction function = [](std::span<const Array> x) {
    return lax::fori_loop(
        0, 5,
        [](const Array& i, std::span<const Array> carry) {
          return lax::cond(
              lax::eq(lax::rem(i, Array::scalar<int32_t>(2)), Array::scalar<int32_t>(0)),
              [](std::span<const Array> a) { return std::vector{increment(a[0])}; },
              [](std::span<const Array> a) { return std::vector{a[0]}; },
              std::vector<Array>(carry.begin(), carry.end()));
        },
        std::vector{lax::neg(x[0])});
  };
  EXPECT_EQ(copies(function, {f32({2})}), 0);
  const auto f = jit([&](const Array& x) { return function(std::vector<Array>{x})[0]; });
  const Array x = Array::of<float>({1, 2});
  EXPECT_THAT(floats(f(x)), ElementsAre(2, 1));
  EXPECT_THAT(floats(f(x)), ElementsAre(2, 1));
}

TEST(Alias, WithLayouts) {
  const FfiCallOptions options = {.input_layouts = {{MajorToMinor({1, 0})}},
                                  .output_layouts = {{MajorToMinor({1, 0})}},
                                  .input_output_aliases = {{0, 0}}};
  const FlatFunction function = [&](std::span<const Array> x) {
    return std::vector<Array>{increment(x[0], options)};
  };
  const auto plan = plan_of(function, {f32({2, 3})});
  EXPECT_EQ(plan->statistics.layout_copies, 2);  // in and out; the copy in also serves the alias
  EXPECT_EQ(plan->statistics.alias_copies, 0);
  EXPECT_EQ(plan->arena_bytes, 64u);
  const Array x = testing::array_of(testing::iota(6), {2, 3});
  EXPECT_THAT(floats(increment(x, options)), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(floats(x), ElementsAre(0, 1, 2, 3, 4, 5));
  const auto f = jit([&](const Array& x) {
    const Array y = lax::neg(x);
    const Array z = increment(y, options);
    return std::tuple(z, lax::abs(y));
  });
  EXPECT_THAT(floats(std::get<0>(f(x))), ElementsAre(1, 0, -1, -2, -3, -4));
  EXPECT_THAT(floats(std::get<1>(f(x))), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Alias, OfAZeroSizedArrayAndOfAToken) {
  const Array empty = increment(numpy::zeros(Shape{0, 2}));
  EXPECT_EQ(empty.size(), 0);
  static const std::string name = testing::add_target([](Call) { return nullptr; });
  const Array token =
      FfiCall(name, {ShapeDtype(DType::kToken, {})}, kAliased)({lax::create_token()})[0];
  EXPECT_TRUE(token.type().is_token());
}

TEST(Alias, MistakesAreRefused) {
  const Array x = Array::of<float>({1, 2});
  const auto error = [&](std::map<int64_t, int64_t> aliases, std::vector<ShapeDtype> results,
                         std::vector<Array> operands) {
    return testing::error_of(ErrorCode::kInvalidArgument, [&] {
      FfiCall("some_target", results, {.input_output_aliases = aliases})(operands);
    });
  };
  const std::string prefix =
      "ffi_call(\"some_target\"): input_output_aliases contains the mapping ";
  EXPECT_EQ(error({{1, 0}}, {f32({2})}, {x}),
            prefix + "'1:0' with input index 1 outside the range [0, 1)");
  EXPECT_EQ(error({{-1, 0}}, {f32({2})}, {x}),
            prefix + "'-1:0' with input index -1 outside the range [0, 1)");
  EXPECT_EQ(error({{0, -1}}, {f32({2})}, {x}),
            prefix + "'0:-1' with output index -1 outside the range [0, 1)");
  EXPECT_EQ(error({{0, 0}, {1, 0}}, {f32({2})}, {x, x}),
            prefix +
                "'1:0', but output 0 is named twice; one output can take over the memory of "
                "one input");
  EXPECT_EQ(error({{0, 0}}, {f32({3})}, {x}),
            prefix +
                "'0:0' referring to an input of f32[2] and an output of f32[3]; they must be "
                "equal in shape and dtype");
}

}  // namespace
}  // namespace farcall::native
