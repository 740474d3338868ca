// Dead code: unused equations are removed, effects stay.
#include "../engine/calls.h"
#include "passes.h"

namespace farcall {
namespace {

using native::testing::add_one;
using native::testing::f32;

TEST(DeadCode, EquationsThatNobodyReadsGo) {
  const ShapeDtype types[] = {f32({3})};
  const ProgramPtr program = record(
      [](std::span<const Array> x) {
        const Array unused = lax::exp(lax::sin(x[0]));
        return std::vector<Array>{lax::neg(x[0])};
      },
      types);
  EXPECT_EQ(program->equations.size(), 3u);
  const ProgramPtr live = remove_dead_code(program);
  ASSERT_EQ(live->equations.size(), 1u);
  EXPECT_EQ(live->equations[0].primitive->name, "neg");
  EXPECT_EQ(live->outputs, program->outputs);
  verify(*live);
  EXPECT_EQ(program->equations.size(), 3u);  // programs are immutable
}

TEST(DeadCode, AProgramWithoutAnyIsItself) {
  const ShapeDtype types[] = {f32({3})};
  const ProgramPtr program =
      record([](std::span<const Array> x) { return std::vector<Array>{lax::neg(x[0])}; }, types);
  EXPECT_EQ(remove_dead_code(program), program);
}

TEST(DeadCode, ACallWithoutEffectsGoes) {
  const ShapeDtype types[] = {f32({3})};
  const ProgramPtr program = record(
      [](std::span<const Array> x) {
        native::testing::call(add_one(), {x[0]}, f32({3}));
        return std::vector<Array>{x[0]};
      },
      types);
  EXPECT_TRUE(remove_dead_code(program)->equations.empty());
}

TEST(DeadCode, ACallWithEffectsStaysAndSoDoesWhatItReads) {
  const ShapeDtype types[] = {f32({3})};
  const ProgramPtr program = record(
      [](std::span<const Array> x) {
        native::testing::call(add_one(), {lax::exp(x[0])}, f32({3}), {.has_side_effect = true});
        return std::vector<Array>{};
      },
      types);
  EXPECT_EQ(remove_dead_code(program), program);
}

TEST(DeadCode, OneResultThatIsReadKeepsTheEquation) {
  const ShapeDtype types[] = {f32({3}), f32({3})};
  const ProgramPtr program = record(
      [](std::span<const Array> x) {
        return std::vector<Array>{FfiCall(add_one(), {f32({3}), f32({3})})({x[0], x[1]})[1]};
      },
      types);
  EXPECT_EQ(remove_dead_code(program), program);
}

TEST(DeadCode, ConstantsThatNobodyReadsGo) {
  testing::expect_after(
      "{ lambda a:f32[2]=[1.0 2.0] b:f32[2]=[3.0 4.0] ; c:f32[2]. let d:f32[2] = neg a e:f32[2] = "
      "add b c in (e,) }",
      remove_dead_code, "{ lambda b:f32[2]=[3.0 4.0] ; c:f32[2]. let e:f32[2] = add b c in (e,) }");
}

// The second carry is unused, and so is what only it needs.
TEST(DeadCode, ScansLoseResultsAndProgramsInsideLoseEquations) {
  testing::expect_after(
      "{ lambda ; a:f32[2] b:f32[2] c:f32[2]. let d:f32[2] e:f32[2] f:f32[3,2] = scan[jaxpr={ "
      "lambda ; a:f32[2] b:f32[2] c:f32[2]. let d:f32[2] = neg b e:f32[2] = add c a f:f32[2] = sin "
      "d in (d, e, f) } length=3 num_carry=2 num_consts=1 reverse=False unroll=1] a b c in (d,) }",
      remove_dead_code,
      "{ lambda ; a:f32[2] b:f32[2] c:f32[2]. let d:f32[2] = scan[jaxpr={ lambda ; b:f32[2]. let "
      "d:f32[2] = neg b in (d,) } length=3 num_carry=1 num_consts=0 reverse=False unroll=1] b in "
      "(d,) }");
  testing::expect_after(
      "{ lambda ; a:i32[] b:f32[2]. let c:f32[2] = cond[branches=({ lambda ; a:f32[2]. let "
      "b:f32[2] = sin a in (a,) }, { lambda ; a:f32[2]. let b:f32[2] = neg a in (b,) })] a b in "
      "(c,) }",
      remove_dead_code,
      "{ lambda ; a:i32[] b:f32[2]. let c:f32[2] = cond[branches=({ lambda ; a:f32[2]. let in (a,) "
      "}, { lambda ; a:f32[2]. let b:f32[2] = neg a in (b,) })] a b in (c,) }");
}

}  // namespace
}  // namespace farcall
