// Nested programs: printing, verification and cost.
#include <gtest/gtest.h>

#include <farcall/primitives/call.h>
#include <farcall/primitives/control_flow.h>
#include <farcall/program/save.h>
#include <farcall/program/text.h>
#include <farcall/program/verify.h>
#include <farcall/program/walk.h>

#include "building.h"

namespace farcall {
namespace {

using testing::error_of;
using testing::primitive;
using testing::program_of;

const ShapeDtype kFour(DType::kFloat32, {4});

ProgramPtr twice() {
  return parse_program("{ lambda ; a:f32[4]. let b:f32[4] = neg a c:f32[4] = exp b in (c,) }");
}

ProgramPtr call_of(ProgramPtr body, std::initializer_list<ShapeDtype> operands) {
  return program_of("jit", operands, make_params(JitParams{"f", std::move(body)}));
}

TEST(Nested, AProgramStandsIndentedInItsParameter) {
  EXPECT_EQ(to_text(*call_of(twice(), {kFour})),
            "{ lambda ; a:f32[4]. let\n"
            "    b:f32[4] = jit[\n"
            "      name=f\n"
            "      jaxpr={ lambda ; a:f32[4]. let\n"
            "          b:f32[4] = neg a\n"
            "          c:f32[4] = exp b\n"
            "        in (c,) }\n"
            "    ] a\n"
            "  in (b,) }");
}

TEST(Nested, BranchesStandOneBelowTheOther) {
  const ProgramPtr same = parse_program("{ lambda ; a:f32[4]. let in (a,) }");
  EXPECT_EQ(to_text(*program_of("cond", {ShapeDtype(DType::kInt32, {}), kFour},
                                make_params(CondParams{{twice(), same}}))),
            "{ lambda ; a:i32[] b:f32[4]. let\n"
            "    c:f32[4] = cond[\n"
            "      branches=(\n"
            "        { lambda ; a:f32[4]. let\n"
            "            b:f32[4] = neg a\n"
            "            c:f32[4] = exp b\n"
            "          in (c,) },\n"
            "        { lambda ; a:f32[4]. let in (a,) }\n"
            "      )\n"
            "    ] a b\n"
            "  in (c,) }");
}

TEST(Nested, ProgramsAsDeepAsTheyMayBeReadBack) {
  ProgramPtr program = twice();
  for (int64_t i = 1; i < kMaxProgramDepth; ++i) program = call_of(program, {kFour});
  verify(*program);
  EXPECT_EQ(nesting_of(*program).depth, kMaxProgramDepth);
  EXPECT_TRUE(*parse_program(to_text(*program)) == *program);
  EXPECT_TRUE(*deserialize_program(serialize_program(*program)).program == *program);
}

TEST(Nested, TheVerifierLooksInside) {
  Program broken = *twice();
  broken.equations[1].inputs[0] = Atom::variable(2);
  const ProgramPtr program = call_of(std::make_shared<const Program>(broken), {kFour});
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [&] { verify(*program); }),
            "invalid program: equation 0 (jit), jaxpr: equation 1 (exp): variable 2 is read before "
            "it is defined");
  const ProgramPtr outer = call_of(program, {kFour});
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [&] { verify(*outer); }),
            "invalid program: equation 0 (jit), jaxpr: equation 0 (jit), jaxpr: equation 1 (exp): "
            "variable 2 is read before it is defined");
}

TEST(Nested, OperandsOfACallFitItsProgram) {
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [] { call_of(twice(), {}); }),
            "jit: it has 0 operands, its program takes 1");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                     [] { call_of(twice(), {ShapeDtype(DType::kFloat32, {5})}); }),
            "jit: operand 0 is f32[5], its program takes f32[4]");
  verify(*call_of(twice(), {ShapeDtype(DType::kFloat32, {4}, /*weak_type=*/true)}));
}

TEST(Nested, ACallCostsWhatItsProgramDoes) {
  const Cost cost = call_of(twice(), {kFour})->cost();
  EXPECT_EQ(cost.flops, 8);
  EXPECT_EQ(cost.bytes, 64);
}

TEST(Nested, AScanCostsItsStepTimesTheLength) {
  const ProgramPtr program = program_of("scan", {kFour}, make_params(ScanParams{twice(), 10, 1}));
  EXPECT_EQ(program->cost().flops, 80);
  EXPECT_EQ(program->cost().bytes, 640);
}

TEST(Nested, ACondCostsItsDearestBranch) {
  const ProgramPtr same = parse_program("{ lambda ; a:f32[4]. let in (a,) }");
  const ProgramPtr program = program_of("cond", {ShapeDtype(DType::kInt32, {}), kFour},
                                        make_params(CondParams{{same, twice()}}));
  EXPECT_EQ(program->cost().flops, 8);
  EXPECT_EQ(program->cost().bytes, 64);
}

// Each level runs the one below twice: results for a program are cached.
TEST(Nested, SharedProgramsAreLookedAtOnce) {
  ProgramPtr program = twice();
  for (int i = 0; i < 60; ++i) {
    ProgramBuilder builder;
    Atom x = Atom::variable(builder.add_input(kFour));
    for (int j = 0; j < 2; ++j) {
      x = Atom::variable(
          builder.add_equation(primitive("jit"), make_params(JitParams{"f", program}), {&x, 1})[0]);
    }
    program = builder.build({&x, 1});
  }
  verify(*program);
  EXPECT_EQ(program->cost().flops, INT64_MAX);
}

}  // namespace
}  // namespace farcall
