// Calls in programs are replaced by their equations.
#include "passes.h"

namespace farcall {
namespace {

using testing::expect_after;
using testing::expect_same;

TEST(InlineCalls, EquationsTakeThePlaceOfCalls) {
  expect_after(
      "{ lambda ; a:f32[6]. let b:f32[6] = jit[name=f jaxpr={ lambda ; a:f32[6]. let b:f32[6] = "
      "mul a 2.0:f32[] in (b,) }] a c:f32[6] = neg b in (c,) }",
      inline_calls,
      "{ lambda ; a:f32[6]. let b:f32[6] = mul a 2.0:f32[] c:f32[6] = neg b in (c,) }");
}

TEST(InlineCalls, CallsInCallsAndCustomRules) {
  expect_after(
      "{ lambda ; a:f32[2]. let b:f32[2] = custom_jvp_call[name=f call_jaxpr={ lambda ; a:f32[2]. "
      "let b:f32[2] = jit[name=g jaxpr={ lambda ; a:f32[2]. let b:f32[2] = neg a in (b,) }] a in "
      "(b,) } num_consts=0] a in (b,) }",
      inline_calls, "{ lambda ; a:f32[2]. let b:f32[2] = neg a in (b,) }");
}

TEST(InlineCalls, ResultsThatAreOperandsLiteralsAndConstants) {
  expect_after(
      "{ lambda ; a:f32[2]. let b:f32[2] c:f32[] d:f32[2] = jit[name=f jaxpr={ lambda "
      "c:f32[2]=[1.0 nan] ; a:f32[2]. let in (a, 2.0:f32[], c) }] a in (b, c, d) }",
      inline_calls, "{ lambda c:f32[2]=[1.0 nan] ; a:f32[2]. let in (a, 2.0:f32[], c) }");
}

TEST(InlineCalls, InsideLoops) {
  expect_after(
      "{ lambda ; a:f32[2]. let b:f32[2] = scan[jaxpr={ lambda ; a:f32[2]. let b:f32[2] = "
      "jit[name=f jaxpr={ lambda ; a:f32[2]. let b:f32[2] = neg a in (b,) }] a in (b,) } length=3 "
      "num_carry=1 num_consts=0 reverse=False unroll=1] a in (b,) }",
      inline_calls,
      "{ lambda ; a:f32[2]. let b:f32[2] = scan[jaxpr={ lambda ; a:f32[2]. let b:f32[2] = neg a "
      "in (b,) } length=3 num_carry=1 num_consts=0 reverse=False unroll=1] a in (b,) }");
}

TEST(InlineCalls, ACheckpointIsKeptApartByABarrier) {
  const auto before = [](std::string_view prevent_cse) {
    return "{ lambda ; a:f32[2]. let b:f32[2] = checkpoint[jaxpr={ lambda ; a:f32[2] b:f32[]. let "
           "c:f32[2] = mul a b in (c,) } prevent_cse=" +
           std::string(prevent_cse) + " policy=nothing_saveable names=()] a 2.0:f32[] in (b,) }";
  };
  expect_after(before("True"), inline_calls,
               "{ lambda ; a:f32[2]. let b:f32[2] = optimization_barrier a c:f32[2] = mul b "
               "2.0:f32[] in (c,) }");
  expect_after(before("False"), inline_calls,
               "{ lambda ; a:f32[2]. let b:f32[2] = mul a 2.0:f32[] in (b,) }");
}

TEST(InlineCalls, AProgramWithoutCallsIsItself) {
  expect_same(
      "{ lambda ; a:f32[2]. let b:f32[2] = scan[jaxpr={ lambda ; a:f32[2]. let b:f32[2] = neg a "
      "in (b,) } length=3 num_carry=1 num_consts=0 reverse=False unroll=1] a in (b,) }",
      inline_calls);
}

}  // namespace
}  // namespace farcall
