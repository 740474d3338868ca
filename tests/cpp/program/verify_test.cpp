// The verifier: each rule is violated once.
#include <functional>

#include <gtest/gtest.h>

#include <farcall/program/verify.h>

#include "building.h"

namespace farcall {
namespace {

using testing::error_of;
using testing::kVector;
using testing::primitive;

// b = neg a; c = add b 1.0; with a constant d. Valid before `change`.
Program program(const std::function<void(Program&)>& change) {
  ProgramBuilder builder;
  const Atom a = Atom::variable(builder.add_input(kVector));
  const Atom b = Atom::variable(builder.add_equation(primitive("neg"), nullptr, {&a, 1})[0]);
  const Atom sum[] = {b, builder.add_literal(testing::literal(DType::kFloat32, 1.f))};
  const Atom c = Atom::variable(builder.add_equation(primitive("add"), nullptr, sum)[0]);
  builder.add_constant(kVector, testing::storage_of({1.f, 2.f, 3.f}));
  Program made = *builder.build({&c, 1});
  change(made);
  return made;
}

std::string broken(const std::function<void(Program&)>& change) {
  return error_of(ErrorCode::kInvalidArgument, [&] { verify(program(change)); });
}

TEST(Verify, AcceptsAValidProgram) {
  verify(program([](Program&) {}));
}

TEST(Verify, ALiteralIsAScalar) {
  EXPECT_EQ(broken([](Program& p) { p.literals[0].type = kVector; }),
            "invalid program: program: a literal is not a scalar");
}

TEST(Verify, AnInputIsAVariable) {
  EXPECT_EQ(broken([](Program& p) { p.inputs.push_back(17); }),
            "invalid program: program: there is no variable 17");
}

TEST(Verify, AnInputIsNamedOnce) {
  EXPECT_EQ(broken([](Program& p) { p.inputs.push_back(0); }),
            "invalid program: program: variable 0 is defined twice");
}

TEST(Verify, AConstantHasTheBytesOfItsType) {
  EXPECT_EQ(broken([](Program& p) { p.constants[0].storage = testing::storage_of({1.f}); }),
            "invalid program: program: constant 3 has 4 bytes, its type f32[3] has 12");
}

TEST(Verify, AConstantIsNoInput) {
  EXPECT_EQ(broken([](Program& p) { p.constants[0].variable = 0; }),
            "invalid program: program: variable 0 is defined twice");
}

TEST(Verify, AVariableIsReadAfterItIsDefined) {
  EXPECT_EQ(broken([](Program& p) { std::swap(p.equations[0], p.equations[1]); }),
            "invalid program: equation 0 (add): variable 1 is read before it is defined");
  EXPECT_EQ(broken([](Program& p) { p.equations[0].inputs[0] = Atom::variable(99); }),
            "invalid program: equation 0 (neg): variable 99 is read before it is defined");
  EXPECT_EQ(broken([](Program& p) { p.outputs[0] = Atom::variable(99); }),
            "invalid program: program outputs: variable 99 is read before it is defined");
}

TEST(Verify, ALiteralIsThere) {
  EXPECT_EQ(broken([](Program& p) { p.equations[1].inputs[1] = Atom::literal(4); }),
            "invalid program: equation 1 (add): there is no literal 4");
}

TEST(Verify, AVariableIsDefinedOnce) {
  EXPECT_EQ(broken([](Program& p) { p.equations[1].outputs[0] = 1; }),
            "invalid program: equation 1 (add): variable 1 is defined twice");
  EXPECT_EQ(broken([](Program& p) { p.equations[1].outputs[0] = 40; }),
            "invalid program: equation 1 (add): there is no variable 40");
}

TEST(Verify, AnEquationHasAPrimitive) {
  EXPECT_EQ(broken([](Program& p) { p.equations[1].primitive = nullptr; }),
            "invalid program: equation 1: it has no primitive");
}

TEST(Verify, OperandsFitThePrimitive) {
  EXPECT_EQ(broken([](Program& p) { p.equations[1].inputs.pop_back(); }),
            "invalid program: equation 1 (add): add: expected 2 operands, got 1");
}

TEST(Verify, ResultsAreThoseOfThePrimitive) {
  EXPECT_EQ(broken([](Program& p) { p.equations[1].outputs.clear(); }),
            "invalid program: equation 1 (add): it defines 0 variables, its primitive gives 1 "
            "results");
  EXPECT_EQ(broken([](Program& p) { p.variable_types[2] = ShapeDtype(DType::kFloat32, {4}); }),
            "invalid program: equation 1 (add): result 0 is declared f32[4], its primitive gives "
            "f32[3]");
  EXPECT_EQ(
      broken([](Program& p) { p.variable_types[2] = ShapeDtype(DType::kFloat32, {3}, true); }),
      "invalid program: equation 1 (add): result 0 is declared f32[3]*, its primitive gives "
      "f32[3]");
}

TEST(Verify, EffectsAreThoseOfThePrimitive) {
  EXPECT_EQ(broken([](Program& p) { p.equations[0].effects = Effects::kSideEffect; }),
            "invalid program: equation 0 (neg): its effects are not those of its primitive");
}

}  // namespace
}  // namespace farcall
