// Dead code: what nobody reads goes, effects stay.
#include <gtest/gtest.h>

#include <farcall/program/verify.h>

#include "calls.h"

namespace farcall::native {
namespace {

using testing::add_one;
using testing::f32;

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
  EXPECT_EQ(program->equations.size(), 3u);  // a program never changes
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
        testing::call(add_one(), {x[0]}, f32({3}));
        return std::vector<Array>{x[0]};
      },
      types);
  EXPECT_TRUE(remove_dead_code(program)->equations.empty());
}

TEST(DeadCode, ACallWithEffectsStaysAndSoDoesWhatItReads) {
  const ShapeDtype types[] = {f32({3})};
  const ProgramPtr program = record(
      [](std::span<const Array> x) {
        testing::call(add_one(), {lax::exp(x[0])}, f32({3}), {.has_side_effect = true});
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

}  // namespace
}  // namespace farcall::native
