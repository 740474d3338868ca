// ProgramBuilder, primitives, and equality of programs.
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/primitives/primitives.h>
#include <farcall/primitives/structural.h>
#include <farcall/program/verify.h>

#include "building.h"

namespace farcall {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using testing::kScalar;
using testing::kVector;
using testing::literal;
using testing::primitive;
using testing::program_of;
using testing::storage_of;

TEST(ProgramBuilder, NumbersVariablesInOrder) {
  ProgramBuilder builder;
  EXPECT_EQ(builder.add_input(kVector), 0u);
  EXPECT_EQ(builder.add_constant(kVector, storage_of({1.f, 2.f, 3.f})), 1u);
  const Atom two = builder.add_literal(literal(DType::kFloat32, 2.f));
  EXPECT_EQ(two, Atom::literal(0));
  const Atom operands[] = {Atom::variable(0), two};
  EXPECT_THAT(builder.add_equation(primitive("mul"), nullptr, operands), ElementsAre(2));
  EXPECT_EQ(builder.type_of(Atom::variable(2)), kVector);
  EXPECT_EQ(builder.type_of(two), kScalar);

  const Atom outputs[] = {Atom::variable(2), Atom::variable(1), two};
  const ProgramPtr program = builder.build(outputs, "twice");
  EXPECT_EQ(program->name, "twice");
  EXPECT_THAT(program->input_types(), ElementsAre(kVector));
  EXPECT_THAT(program->output_types(), ElementsAre(kVector, kVector, kScalar));
  EXPECT_EQ(program->constants.size(), 1u);
  EXPECT_EQ(program->equations.size(), 1u);
  verify(*program);
}

TEST(ProgramBuilder, RefusesWhatTheTypeRuleRefuses) {
  ProgramBuilder builder;
  const Atom x = Atom::variable(builder.add_input(kVector));
  const Atom y = Atom::variable(builder.add_input(ShapeDtype(DType::kFloat32, {4})));
  const Atom operands[] = {x, y};
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                     [&] { builder.add_equation(primitive("add"), nullptr, operands); }),
            "add: operands must have one shape, or be scalars; got f32[3], f32[4]");
  // The builder is unchanged.
  const Atom outputs[] = {x};
  EXPECT_TRUE(builder.build(outputs)->equations.empty());
}

TEST(ProgramBuilder, KeepsTheUsersLine) {
  ProgramBuilder builder;
  const Atom x = Atom::variable(builder.add_input(kVector));
  const auto where =
      std::make_shared<const SourceLocation>(SourceLocation{"model.py", 12, "forward"});
  builder.add_equation(primitive("neg"), nullptr, {&x, 1}, where);
  EXPECT_EQ(builder.build({})->equations[0].where->line, 12);
}

TEST(Primitive, AllHaveANameAndATypeRule) {
  std::set<std::string_view> names;
  for (const Primitive* each : all_primitives()) {
    EXPECT_TRUE(names.insert(each->name).second) << each->name;
    EXPECT_NE(each->type_rule, nullptr) << each->name;
    EXPECT_EQ(find_primitive(each->name), each);
  }
  EXPECT_GT(names.size(), 60u);
  EXPECT_EQ(find_primitive("no_such_primitive"), nullptr);
}

TEST(Primitive, AWrongNameInTheSourceIsAnInternalError) {
  EXPECT_EQ(&primitive_named("add"), find_primitive("add"));
  EXPECT_THAT(error_of(ErrorCode::kInternal, [] { primitive_named("ad"); }),
              ::testing::HasSubstr("there is no primitive named \"ad\""));
}

TEST(Primitive, ThoseThatOtherLayersAddAreTheRegisteredOnes) {
  for (const Primitive* each :
       {&kBarrier, &kCluster, &kFfiCall, &kReshape, &kScan, &kShardingConstraint, &kTranspose}) {
    EXPECT_EQ(find_primitive(each->name), each) << each->name;
  }
}

TEST(Primitive, ANameIsTakenOnce) {
  static const Primitive other = {.name = "add", .type_rule = primitive("add").type_rule};
  EXPECT_EQ(error_of(ErrorCode::kAlreadyExists, [] { register_primitive(other); }),
            "there is a primitive named \"add\" already");
  register_primitive(primitive("add"));  // registering it again is allowed
}

TEST(Primitive, InferTypesNamesThePrimitiveOnce) {
  const ShapeDtype types[] = {kVector};
  EXPECT_EQ(
      error_of(ErrorCode::kInvalidArgument, [&] { infer_types(primitive("add"), types, nullptr); }),
      "add: expected 2 operands, got 1");
  // The type rule of ffi_call names the target itself, and so the operation.
  auto params = testing::ffi_call_params("f", 1, {kVector});
  params.input_output_aliases = {{0, 1}};
  EXPECT_EQ(
      error_of(
          ErrorCode::kInvalidArgument,
          [&] { infer_types(primitive("ffi_call"), types, make_params(std::move(params)).get()); }),
      "ffi_call(\"f\"): input_output_aliases contains the mapping '0:1' with output index 1 "
      "outside the range [0, 1)");
}

TEST(Primitive, WrongParametersAreABugOfTheCaller) {
  const ShapeDtype types[] = {kVector};
  const std::string message =
      error_of(ErrorCode::kInternal, [&] { infer_types(primitive("transpose"), types, nullptr); });
  EXPECT_THAT(message, ::testing::EndsWith("got none"));
}

TEST(Program, EffectsAreThoseOfAllEquations) {
  EXPECT_EQ(program_of("neg", {kVector})->effects(), Effects::kNone);
  auto params = testing::ffi_call_params("f", 1, {kVector});
  params.has_side_effect = true;
  EXPECT_EQ(program_of("ffi_call", {kVector}, make_params(params))->effects(),
            Effects::kSideEffect);
}

// ---- equality ----

ProgramPtr affine(float factor, bool literal_twice, bool constant_first) {
  ProgramBuilder builder;
  uint32_t constant = 0;
  if (constant_first) constant = builder.add_constant(kVector, storage_of({1.f, 2.f, 3.f}));
  const Atom x = Atom::variable(builder.add_input(kVector));
  const Atom first = builder.add_literal(literal(DType::kFloat32, factor));
  const Atom second = literal_twice ? builder.add_literal(literal(DType::kFloat32, factor)) : first;
  const Atom product[] = {x, first};
  const Atom scaled = Atom::variable(builder.add_equation(primitive("mul"), nullptr, product)[0]);
  if (!constant_first) constant = builder.add_constant(kVector, storage_of({1.f, 2.f, 3.f}));
  const Atom sum[] = {scaled, second};
  const Atom shifted = Atom::variable(builder.add_equation(primitive("add"), nullptr, sum)[0]);
  const Atom with_constant[] = {shifted, Atom::variable(constant)};
  const Atom result =
      Atom::variable(builder.add_equation(primitive("sub"), nullptr, with_constant)[0]);
  return builder.build({&result, 1}, literal_twice ? "a" : "b");
}

TEST(ProgramEquality, NumberingAndNamesDoNotCount) {
  EXPECT_TRUE(*affine(2.f, true, true) == *affine(2.f, true, true));
  EXPECT_TRUE(*affine(2.f, true, true) == *affine(2.f, false, true));
  EXPECT_TRUE(*affine(2.f, true, true) == *affine(2.f, false, false));
  EXPECT_TRUE(*affine(2.f, false, false) == *affine(2.f, true, true));
}

TEST(ProgramEquality, ValuesCount) {
  EXPECT_FALSE(*affine(2.f, true, true) == *affine(3.f, true, true));
  EXPECT_FALSE(*affine(0.f, true, true) == *affine(-0.f, true, true));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(*affine(nan, true, true) == *affine(nan, false, true));
}

TEST(ProgramEquality, ConstantsCount) {
  const auto with_constant = [](std::initializer_list<float> values) {
    ProgramBuilder builder;
    const Atom operands[] = {Atom::variable(builder.add_input(kVector)),
                             Atom::variable(builder.add_constant(kVector, storage_of(values)))};
    const Atom sum = Atom::variable(builder.add_equation(primitive("add"), nullptr, operands)[0]);
    return builder.build({&sum, 1});
  };
  EXPECT_TRUE(*with_constant({1.f, 2.f, 3.f}) == *with_constant({1.f, 2.f, 3.f}));
  EXPECT_FALSE(*with_constant({1.f, 2.f, 3.f}) == *with_constant({1.f, 2.f, 4.f}));
}

TEST(ProgramEquality, WiringCounts) {
  const auto sub = [](bool swapped, bool other_output) {
    ProgramBuilder builder;
    const Atom x = Atom::variable(builder.add_input(kVector));
    const Atom y = Atom::variable(builder.add_input(kVector));
    const Atom operands[] = {swapped ? y : x, swapped ? x : y};
    const Atom out = Atom::variable(builder.add_equation(primitive("sub"), nullptr, operands)[0]);
    const Atom outputs[] = {other_output ? x : out};
    return builder.build(outputs);
  };
  EXPECT_TRUE(*sub(false, false) == *sub(false, false));
  EXPECT_FALSE(*sub(false, false) == *sub(true, false));
  EXPECT_FALSE(*sub(false, false) == *sub(false, true));
}

TEST(ProgramEquality, TypesPrimitivesAndParametersCount) {
  EXPECT_FALSE(*program_of("neg", {kVector}) == *program_of("exp", {kVector}));
  EXPECT_FALSE(*program_of("neg", {kVector}) == *program_of("neg", {kScalar}));
  EXPECT_FALSE(*program_of("neg", {kVector}) ==
               *program_of("neg", {ShapeDtype(DType::kFloat32, {3}, true)}));
  const auto slice = [](int64_t limit) {
    return program_of("slice", {kVector}, make_params(SliceParams{{0}, {limit}, {1}}));
  };
  EXPECT_TRUE(*slice(2) == *slice(2));
  EXPECT_FALSE(*slice(2) == *slice(1));
}

}  // namespace
}  // namespace farcall
