// Foreign calls: passes do not merge or drop them, and leave the memory that determines alias
// copies unchanged.
#include <gmock/gmock.h>

#include "../engine/calls.h"
#include "passes.h"

namespace farcall {
namespace {

using native::testing::add_one;
using native::testing::array_of;
using native::testing::call;
using native::testing::f32;
using native::testing::floats;
using ::testing::ElementsAre;

// A target that adds one and counts its runs.
std::string counting(int* num_runs) {
  return native::testing::add_target([num_runs](native::testing::Call call) -> FARCALL_FFI_Error* {
    ++*num_runs;
    for (size_t i = 0; i < call.size(call.result(0)); ++i) call.out(0)[i] = call.in(0)[i] + 1;
    return nullptr;
  });
}

std::vector<Array> run_whole(const FlatFunction& function, const Array& x) {
  const ShapeDtype types[] = {x.type()};
  return run(*native::testing::compile(record(function, types)), {&x, 1});
}

TEST(ForeignCalls, EqualCallsRunAsOftenAsTheyAreWritten) {
  int num_runs = 0;
  const std::string target = counting(&num_runs);
  for (const bool has_side_effect : {false, true}) {
    num_runs = 0;
    const auto results = run_whole(
        [&](std::span<const Array> x) {
          const FfiCallOptions options{.has_side_effect = has_side_effect};
          return std::vector{lax::add(call(target, {x[0]}, f32({2}), options),
                                      call(target, {x[0]}, f32({2}), options))};
        },
        Array::of<float>({1, 2}));
    EXPECT_THAT(floats(results[0]), ElementsAre(4, 6));
    EXPECT_EQ(num_runs, 2);
  }
}

TEST(ForeignCalls, ACallWhoseResultASelectDropsIsRun) {
  int num_runs = 0;
  const std::string target = counting(&num_runs);
  const auto results = run_whole(
      [&](std::span<const Array> x) {
        const Array which = lax::lt(Array(1.0f), Array(2.0f));
        const Array known = lax::select_n(which, {call(target, {x[0]}, f32({2})), x[0]});
        return std::vector{lax::neg(known)};
      },
      Array::of<float>({1, 2}));
  EXPECT_THAT(floats(results[0]), ElementsAre(-1, -2));
  EXPECT_EQ(num_runs, 1);
}

TEST(ForeignCalls, ACallOnKnownOperandsIsRunEachTime) {
  int num_runs = 0;
  const std::string target = counting(&num_runs);
  const ShapeDtype types[] = {f32({2})};
  const auto executable = native::testing::compile(record(
      [&](std::span<const Array> x) {
        return std::vector{lax::add(x[0], call(target, {Array::of<float>({1, 2})}, f32({2})))};
      },
      types));
  EXPECT_EQ(num_runs, 0);
  const Array x = Array::of<float>({1, 2});
  for (int i = 0; i < 3; ++i) run(*executable, {&x, 1});
  EXPECT_EQ(num_runs, 3);
}

// Each call keeps its own operand, although both are equal and known.
TEST(ForeignCalls, AliasesOfEqualKnownOperandsStayFree) {
  const ShapeDtype types[] = {f32({2})};
  const FfiCallOptions options{.input_output_aliases = {{0, 0}}};
  const ProgramPtr program = record(
      [&](std::span<const Array> x) {
        const auto zeros = [] { return numpy::reshape(numpy::zeros({1, 2}), Shape{2}); };
        const Array one = call(add_one(), {lax::mul(zeros(), Array(1.0f))}, f32({2}), options);
        const Array two = call(add_one(), {lax::add(x[0], Array(0.0f))}, f32({2}), options);
        const Array three = call(add_one(), {lax::add(x[0], Array(0.0f))}, f32({2}), options);
        return std::vector{lax::add(lax::add(one, two), three)};
      },
      types);
  const auto executable = native::testing::compile(program);
  const Array x = Array::of<float>({1, 2});
  EXPECT_THAT(floats(run(*executable, {&x, 1})[0]), ElementsAre(5, 7));
  const auto reports = executable->report();
  ASSERT_EQ(reports.size(), 3u);
  for (const ForeignCallReport& report : reports) {
    ASSERT_EQ(report.aliases.size(), 1u);
    EXPECT_TRUE(report.aliases[0].is_honoured) << report.aliases[0].why;
  }
}

TEST(ForeignCalls, EqualLoopsThatCallStayTwo) {
  int num_runs = 0;
  const std::string target = counting(&num_runs);
  const std::string loop =
      "scan[jaxpr={ lambda ; a:f32[2]. let b:f32[2] = ffi_call[attributes={} batched_operands=() "
      "custom_call_api_version=4 has_side_effect=False input_layouts=(None,) "
      "input_output_aliases=() legacy_backend_config=None output_layouts=(None,) "
      "result_types=(f32[2],) target_name=" +
      target +
      " vmap_method=None] a in (b,) } length=3 num_carry=1 num_consts=0 reverse=False unroll=1] a";
  testing::expect_same("{ lambda ; a:f32[2]. let b:f32[2] = " + loop + " c:f32[2] = " + loop +
                           " d:f32[2] = add b c in (d,) }",
                       common_subexpressions);
}

}  // namespace
}  // namespace farcall
