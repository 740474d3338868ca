// Walking over programs and rewriting them.
#include <string>

#include <gtest/gtest.h>

#include <farcall/program/text.h>
#include <farcall/program/walk.h>

#include "building.h"

namespace farcall {
namespace {

using testing::error_of;

ProgramPtr call_and_sum() {
  return parse_program(
      "{ lambda a:f32[2]=[1.0 2.0] ; b:f32[2]. let\n"
      "    c:f32[2] = jit[name=f jaxpr={ lambda ; a:f32[2]. let b:f32[2] = neg a in (b,) }] b\n"
      "    d:f32[2] = mul c b\n"
      "    e:f32[2] = add d a\n"
      "  in (e, d) }");
}

TEST(Walk, EveryEquationComesBeforeThoseItRuns) {
  std::string order;
  for_each_equation(*call_and_sum(),
                    [&](const Program& program, const Equation& equation, size_t depth) {
                      order += std::string(depth, '>') + std::string(equation.primitive->name) +
                               ' ' + program.type_of(equation.inputs[0]).to_string() + '\n';
                    });
  EXPECT_EQ(order, "jit f32[2]\n>neg f32[2]\nmul f32[2]\nadd f32[2]\n");
}

TEST(Walk, ProgramsAreNamedByTheirParameter) {
  const ProgramPtr program = parse_program(
      "{ lambda ; a:i32[]. let = cond[branches=({ lambda ;. let in () }, { lambda ;. let in () })] "
      "a"
      " in () }");
  const auto nested = nested_programs(program->equations[0]);
  ASSERT_EQ(nested.size(), 2u);
  EXPECT_EQ(nested[0].name, "branches[0]");
  EXPECT_EQ(nested[1].name, "branches[1]");
}

TEST(Walk, Users) {
  const ProgramPtr program = call_and_sum();
  const auto users = find_users(*program);
  EXPECT_EQ(users[program->inputs[0]], (std::vector<Use>{{0, 0}, {1, 1}}));
  EXPECT_EQ(users[program->constants[0].variable], (std::vector<Use>{{2, 1}}));
  EXPECT_EQ(users[program->equations[1].outputs[0]], (std::vector<Use>{{2, 0}, {Use::kOutput, 1}}));
}

TEST(Walk, SubstitutedVariablesAreReadNoMore) {
  const ProgramPtr program = call_and_sum();
  const uint32_t called = program->equations[0].outputs[0];
  const ProgramPtr changed = substitute(*program, {{called, Atom::variable(program->inputs[0])}});
  EXPECT_TRUE(find_users(*changed)[called].empty());
  EXPECT_EQ(changed->equations[1].inputs[0], changed->equations[1].inputs[1]);
  EXPECT_TRUE(*substitute(*program, {}) == *program);
}

TEST(Walk, WhatCannotBeSubstituted) {
  const ProgramPtr program = call_and_sum();
  const auto error = [&](uint32_t variable, Atom atom) {
    return error_of(ErrorCode::kInvalidArgument, [&] { substitute(*program, {{variable, atom}}); });
  };
  EXPECT_EQ(error(99, Atom::variable(0)),
            "substitute: the program has 5 variables and 0 literals; variable 99 cannot become "
            "variable 0");
  EXPECT_EQ(error(0, Atom::literal(0)),
            "substitute: the program has 5 variables and 0 literals; variable 0 cannot become "
            "literal 0");
  EXPECT_EQ(
      error(program->equations[0].outputs[0], Atom::variable(program->equations[2].outputs[0])),
      "invalid program: equation 1 (mul): variable 4 is read before it is defined");
  const ProgramPtr mixed =
      parse_program("{ lambda ; a:f32[2] b:f32[3]. let c:f32[2] = neg a in (c, b) }");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                     [&] {
                       substitute(*mixed, {{0, Atom::variable(1)}});
                     }),
            "substitute: variable 0 is f32[2] and cannot be replaced by f32[3]");
}

}  // namespace
}  // namespace farcall
