// Barriers are removed: readers of their results read their operands.
#include "passes.h"

namespace farcall {
namespace {

TEST(RemoveBarriers, OperandsStandForResults) {
  testing::expect_after(
      "{ lambda ; a:f32[2]. let b:f32[2] = neg a c:f32[2] d:f32[2] = optimization_barrier b a "
      "e:f32[2] = add c d f:f32[2] = optimization_barrier e in (f,) }",
      remove_barriers, "{ lambda ; a:f32[2]. let b:f32[2] = neg a e:f32[2] = add b a in (e,) }");
}

TEST(RemoveBarriers, InsideLoops) {
  testing::expect_after(
      "{ lambda ; a:f32[2]. let b:f32[2] = scan[jaxpr={ lambda ; a:f32[2]. let b:f32[2] = "
      "optimization_barrier a c:f32[2] = neg b in (c,) } length=3 num_carry=1 num_consts=0 "
      "reverse=False unroll=1] a in (b,) }",
      remove_barriers,
      "{ lambda ; a:f32[2]. let b:f32[2] = scan[jaxpr={ lambda ; a:f32[2]. let b:f32[2] = neg a in "
      "(b,) } length=3 num_carry=1 num_consts=0 reverse=False unroll=1] a in (b,) }");
}

TEST(RemoveBarriers, AProgramWithoutAnyIsItself) {
  testing::expect_same("{ lambda ; a:f32[2]. let b:f32[2] = neg a in (b,) }", remove_barriers);
}

}  // namespace
}  // namespace farcall
