// The exact text of programs.
#include <gtest/gtest.h>

#include <farcall/primitives/structural.h>
#include <farcall/program/text.h>

#include "building.h"

namespace farcall {
namespace {

using testing::ffi_call_params;
using testing::kVector;
using testing::literal;
using testing::primitive;
using testing::program_of;
using testing::storage_of;

TEST(Printer, AnEquationStandsOnALine) {
  ProgramBuilder builder;
  const Atom x = Atom::variable(builder.add_input(kVector));
  const Atom two = builder.add_literal(literal(DType::kFloat32, 2.f));
  const Atom product[] = {x, two};
  const Atom y = Atom::variable(builder.add_equation(primitive("mul"), nullptr, product)[0]);
  const Atom z = Atom::variable(builder.add_equation(primitive("sin"), nullptr, {&y, 1})[0]);
  const Atom outputs[] = {z, x};
  EXPECT_EQ(to_text(*builder.build(outputs)),
            "{ lambda ; a:f32[3]. let\n"
            "    b:f32[3] = mul a 2.0:f32[]\n"
            "    c:f32[3] = sin b\n"
            "  in (c, a) }");
}

TEST(Printer, NothingAtAll) {
  ProgramBuilder builder;
  EXPECT_EQ(to_text(*builder.build({})), "{ lambda ;. let in () }");
}

TEST(Printer, AProgramOfOneInput) {
  ProgramBuilder builder;
  const Atom x = Atom::variable(builder.add_input(kVector));
  EXPECT_EQ(to_text(*builder.build({&x, 1})), "{ lambda ; a:f32[3]. let in (a,) }");
}

TEST(Printer, Constants) {
  ProgramBuilder builder;
  const Atom c = Atom::variable(builder.add_constant(
      ShapeDtype(DType::kInt64, {2, 2}), storage_of<int64_t>({1, -2, INT64_MAX, INT64_MIN})));
  const Atom e = Atom::variable(
      builder.add_constant(ShapeDtype(DType::kFloat16, {0}), storage_of<uint16_t>({})));
  const Atom outputs[] = {c, e};
  const ProgramPtr program = builder.build(outputs);
  EXPECT_EQ(to_text(*program),
            "{ lambda a:i64[2,2]=[1 -2 9223372036854775807 -9223372036854775808] b:f16[0]=[] ;. let"
            " in (a, b) }");
  EXPECT_EQ(to_text(*program, {.max_constant_elements = 3}),
            "{ lambda a:i64[2,2]=... b:f16[0]=[] ;. let in (a, b) }");
}

TEST(Printer, AResultThatNobodyReadsHasNoName) {
  ProgramBuilder builder;
  const Atom x = Atom::variable(builder.add_input(kVector));
  builder.add_equation(primitive("neg"), nullptr, {&x, 1});
  EXPECT_EQ(to_text(*builder.build({})),
            "{ lambda ; a:f32[3]. let\n"
            "    _:f32[3] = neg a\n"
            "  in () }");
}

TEST(Printer, FewParametersStandInTheLine) {
  EXPECT_EQ(to_text(*program_of("slice", {ShapeDtype(DType::kInt8, {4, 5})},
                                make_params(SliceParams{{0, 1}, {4, 5}, {1, 2}}))),
            "{ lambda ; a:i8[4,5]. let\n"
            "    b:i8[4,2] = slice[start_indices=(0, 1) limit_indices=(4, 5) strides=(1, 2)] a\n"
            "  in (b,) }");
}

TEST(Printer, EveryParameterOfAForeignCall) {
  FfiCallParams params = ffi_call_params(
      "rms_norm", 2, {kVector, ShapeDtype(DType::kFloat32, {2, 3}), ShapeDtype(DType::kToken, {})});
  params.attributes = {{"eps", 1e-5f}, {"mode", "a \"b\""}, {"sizes", std::vector<int64_t>{1, 2}}};
  params.has_side_effect = true;
  params.input_layouts[1] = {1, 0};
  params.input_output_aliases = {{0, 0}, {1, 1}};
  params.output_layouts[1] = {1, 0};
  params.vmap_method = "broadcast_all";
  EXPECT_EQ(to_text(*program_of("ffi_call", {kVector, ShapeDtype(DType::kFloat32, {2, 3})},
                                make_params(params))),
            "{ lambda ; a:f32[3] b:f32[2,3]. let\n"
            "    c:f32[3] d:f32[2,3] e:token[] = ffi_call[\n"
            "      attributes={eps=1e-05:f32, mode=\"a \\\"b\\\"\", sizes=[1,2]:i64}\n"
            "      batched_operands=()\n"
            "      custom_call_api_version=4\n"
            "      has_side_effect=True\n"
            "      input_layouts=(None, (1, 0))\n"
            "      input_output_aliases=((0, 0), (1, 1))\n"
            "      legacy_backend_config=None\n"
            "      output_layouts=(None, (1, 0), None)\n"
            "      result_types=(f32[3], f32[2,3], token[])\n"
            "      target_name=rms_norm\n"
            "      vmap_method=broadcast_all\n"
            "    ] a b\n"
            "  in (c, d, e) }");
}

TEST(Printer, SourceLocationsAreComments) {
  ProgramBuilder builder;
  const Atom x = Atom::variable(builder.add_input(kVector));
  builder.add_equation(
      primitive("neg"), nullptr, {&x, 1},
      std::make_shared<const SourceLocation>(SourceLocation{"model.py", 12, "forward"}));
  const ProgramPtr program = builder.build({});
  EXPECT_EQ(to_text(*program, {.source_locations = true}),
            "{ lambda ; a:f32[3]. let\n"
            "    _:f32[3] = neg a  # model.py:12 (forward)\n"
            "  in () }");
  EXPECT_TRUE(*parse_program(to_text(*program, {.source_locations = true})) == *program);
}

TEST(Printer, NamesThatAreWordsOfTheTextAreLeftOut) {
  ProgramBuilder builder;
  Atom x = Atom::variable(builder.add_input(kVector));
  for (int i = 0; i < 6000; ++i) {
    x = Atom::variable(builder.add_equation(primitive("neg"), nullptr, {&x, 1})[0]);
  }
  const ProgramPtr program = builder.build({&x, 1});
  const std::string text = to_text(*program);
  EXPECT_EQ(text.find(" in:f32"), std::string::npos);
  EXPECT_EQ(text.find(" inf:f32"), std::string::npos);
  EXPECT_NE(text.find(" io:f32"), std::string::npos);
  EXPECT_TRUE(*parse_program(text) == *program);
}

}  // namespace
}  // namespace farcall
