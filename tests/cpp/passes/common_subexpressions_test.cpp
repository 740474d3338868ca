// Equal equations and constants are merged into the first one.
#include "passes.h"

namespace farcall {
namespace {

using testing::expect_after;
using testing::expect_same;

TEST(CommonSubexpressions, EqualEquationsAreMerged) {
  expect_after(
      "{ lambda ; a:f32[6]. let b:f32[6] = sin a c:f32[6] = sin a d:f32[6] = neg b e:f32[6] = neg "
      "c f:f32[6] = add d e in (f,) }",
      common_subexpressions,
      "{ lambda ; a:f32[6]. let b:f32[6] = sin a d:f32[6] = neg b f:f32[6] = add d d in (f,) }");
}

TEST(CommonSubexpressions, ParametersTypesAndOperandsCount) {
  expect_same(
      "{ lambda ; a:f32[6] b:f32[6]. let c:f32[6] = cumsum[axis=0 reverse=True] a d:f32[6] = "
      "cumsum[axis=0 reverse=False] a e:f32[6] = sub a b f:f32[6] = sub b a g:f32[6] = add c d "
      "h:f32[6] = add e f i:f32[6] = add g h in (i,) }",
      common_subexpressions);
}

TEST(CommonSubexpressions, LiteralsAreComparedByTheirBits) {
  expect_after(
      "{ lambda ; a:f32[6]. let b:f32[6] = mul a 0.0:f32[] c:f32[6] = mul a 0.0:f32[] d:f32[6] = "
      "mul a -0.0:f32[] e:f32[6] = max b c f:f32[6] = max e d in (f,) }",
      common_subexpressions,
      "{ lambda ; a:f32[6]. let b:f32[6] = mul a 0.0:f32[] d:f32[6] = mul a -0.0:f32[] e:f32[6] = "
      "max b b f:f32[6] = max e d in (f,) }");
}

TEST(CommonSubexpressions, EqualConstantsAreOne) {
  expect_after(
      "{ lambda a:f32[2]=[-0.0 nan] b:f32[2]=[-0.0 nan] c:f32[2]=[0.0 nan] ; d:f32[2]. let "
      "e:f32[2] = mul a d f:f32[2] = mul b d g:f32[2] = mul c d h:f32[2] = max e f i:f32[2] = max "
      "h g in (i,) }",
      common_subexpressions,
      "{ lambda a:f32[2]=[-0.0 nan] c:f32[2]=[0.0 nan] ; d:f32[2]. let e:f32[2] = mul a d g:f32[2] "
      "= mul c d h:f32[2] = max e e i:f32[2] = max h g in (i,) }");
}

TEST(CommonSubexpressions, InsideLoopsAndOfLoops) {
  const std::string scan =
      "scan[jaxpr={ lambda ; a:f32[2]. let b:f32[2] = neg a c:f32[2] = neg a d:f32[2] = sub b c in "
      "(d,) } length=3 num_carry=1 num_consts=0 reverse=False unroll=1]";
  const std::string merged =
      "scan[jaxpr={ lambda ; a:f32[2]. let b:f32[2] = neg a d:f32[2] = sub b b in (d,) } length=3 "
      "num_carry=1 num_consts=0 reverse=False unroll=1]";
  expect_after("{ lambda ; a:f32[2]. let b:f32[2] = " + scan + " a c:f32[2] = " + scan +
                   " a d:f32[2] = add b c in (d,) }",
               common_subexpressions,
               "{ lambda ; a:f32[2]. let b:f32[2] = " + merged + " a d:f32[2] = add b b in (d,) }");
}

TEST(CommonSubexpressions, ResultsOfTheProgramKeepMemoryOfTheirOwn) {
  expect_same("{ lambda ; a:f32[2]. let b:f32[2] = neg a c:f32[2] = neg a in (b, c) }",
              common_subexpressions);
  expect_after(
      "{ lambda ; a:f32[2]. let b:f32[2] = neg a c:f32[2] = neg a d:f32[2] = abs b in (c, "
      "d) }",
      common_subexpressions,
      "{ lambda ; a:f32[2]. let b:f32[2] = neg a d:f32[2] = abs b in (b, d) }");
}

TEST(CommonSubexpressions, BarriersKeepEquationsApart) {
  expect_same(
      "{ lambda ; a:f32[2]. let b:f32[2] = optimization_barrier a c:f32[2] = optimization_barrier "
      "a d:f32[2] = neg b e:f32[2] = neg c f:f32[2] = add d e in (f,) }",
      common_subexpressions);
}

TEST(CommonSubexpressions, TokensAreNotMerged) {
  expect_same("{ lambda ; . let a:token[] = create_token b:token[] = create_token in (a, b) }",
              common_subexpressions);
}

TEST(CommonSubexpressions, RandomBitsOfOneKeyAreOne) {
  expect_after(
      "{ lambda ; a:key<fry>[]. let b:u32[2] = random_bits[bit_width=32 shape=(2,)] a c:u32[2] = "
      "random_bits[bit_width=32 shape=(2,)] a d:u32[2] = xor b c in (d,) }",
      common_subexpressions,
      "{ lambda ; a:key<fry>[]. let b:u32[2] = random_bits[bit_width=32 shape=(2,)] a d:u32[2] = "
      "xor b b in (d,) }");
}

}  // namespace
}  // namespace farcall
