// Cost of programs.
#include <gtest/gtest.h>

#include <farcall/primitives/dot_general.h>
#include <farcall/primitives/reduce.h>
#include <farcall/primitives/structural.h>

#include "building.h"

namespace farcall {
namespace {

using testing::kMatrix;
using testing::program_of;

TEST(Cost, AnElementwiseOperationCostsOneForEachElement) {
  const Cost cost = program_of("add", {kMatrix, kMatrix})->cost();
  EXPECT_EQ(cost.flops, 6);
  EXPECT_EQ(cost.bytes, 3 * 24);
}

TEST(Cost, MovesCostBytesAlone) {
  const Cost cost =
      program_of("transpose", {kMatrix}, make_params(TransposeParams{{1, 0}}))->cost();
  EXPECT_EQ(cost.flops, 0);
  EXPECT_EQ(cost.bytes, 2 * 24);
}

TEST(Cost, AReductionCostsOneForEachElementThatItReads) {
  const Cost cost = program_of("reduce_sum", {kMatrix}, make_params(ReduceParams{{0, 1}}))->cost();
  EXPECT_EQ(cost.flops, 6);
  EXPECT_EQ(cost.bytes, 24 + 4);
}

TEST(Cost, AProductCostsTwoForEachPair) {
  const Cost cost = program_of("dot_general", {kMatrix, ShapeDtype(DType::kFloat32, {3, 5})},
                               make_params(DotGeneralParams{{1}, {0}, {}, {}}))
                        ->cost();
  EXPECT_EQ(cost.flops, 2 * 2 * 3 * 5);
  EXPECT_EQ(cost.bytes, 24 + 60 + 40);
}

TEST(Cost, OfAForeignCallOnlyBytesAreKnown) {
  const Cost cost =
      program_of("ffi_call", {kMatrix}, make_params(testing::ffi_call_params("f", 1, {kMatrix})))
          ->cost();
  EXPECT_EQ(cost.flops, 0);
  EXPECT_EQ(cost.bytes, 48);
}

TEST(Cost, OfAProgramIsTheSum) {
  ProgramBuilder builder;
  Atom x = Atom::variable(builder.add_input(kMatrix));
  for (int i = 0; i < 10; ++i) {
    x = Atom::variable(builder.add_equation(testing::primitive("exp"), nullptr, {&x, 1})[0]);
  }
  EXPECT_EQ(builder.build({&x, 1})->cost().flops, 60);
}

}  // namespace
}  // namespace farcall
