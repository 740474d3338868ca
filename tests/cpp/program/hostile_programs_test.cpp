// Hostile programs and texts: numbers near the 64-bit limits, deep nesting, and exponential sharing
// of programs.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/core/interrupt.h>
#include <farcall/core/sizes.h>
#include <farcall/primitives/call.h>
#include <farcall/primitives/control_flow.h>
#include <farcall/program/draw.h>
#include <farcall/program/save.h>
#include <farcall/program/text.h>
#include <farcall/program/verify.h>
#include <farcall/program/walk.h>

#include "building.h"
#include "saved_bytes.h"

namespace farcall {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::primitive;
using testing::saved_bytes;

std::string refusal(const std::string& text) {
  return error_of(ErrorCode::kInvalidArgument, [&] { parse_program(text); });
}

// ---- sizes ----

TEST(Sizes, AreExactOrRaise) {
  EXPECT_EQ(checked_sum(INT64_MAX - 1, 1), INT64_MAX);
  EXPECT_EQ(checked_difference(INT64_MIN + 1, 1), INT64_MIN);
  EXPECT_EQ(checked_product(-3, 4), -12);
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [] { checked_sum(INT64_MAX, 1); }),
            "a size is too large: 9223372036854775807 + 1 does not fit into 64 bits");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [] { checked_difference(0, INT64_MIN); }),
            "a size is too large: 0 - -9223372036854775808 does not fit into 64 bits");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [] { checked_product(1ll << 32, 1ll << 31); }),
            "a size is too large: 4294967296 * 2147483648 does not fit into 64 bits");
  EXPECT_EQ(saturated_sum(INT64_MAX, 5), INT64_MAX);
  EXPECT_EQ(saturated_product(INT64_MAX, 0), 0);
  EXPECT_EQ(error_of(ErrorCode::kResourceExhausted, [] { memory_sum(SIZE_MAX, 2); }),
            "the sizes exceed the address space");
  EXPECT_EQ(error_of(ErrorCode::kResourceExhausted, [] { memory_product(SIZE_MAX / 4, 3); }),
            "the sizes exceed the address space");
}

TEST(Sizes, PartsFitIntoAWhole) {
  EXPECT_TRUE(parts_fit({2, 0, 3}, 5));
  EXPECT_FALSE(parts_fit({2, 0, 4}, 5));
  EXPECT_FALSE(parts_fit({-1, 2}, 5));
  EXPECT_FALSE(parts_fit({INT64_MAX, INT64_MAX, 2}, 5));
}

// ---- counts and sizes in text ----

constexpr const char* kStep = "{ lambda ; a:f32[] b:f32[]. let in (b,) }";

std::string scan(const std::string& consts, const std::string& carry) {
  return std::string("{ lambda ; a:f32[] b:f32[]. let c:f32[] = scan[jaxpr=") + kStep +
         " length=3 num_carry=" + carry + " num_consts=" + consts +
         " reverse=False unroll=1] a b in (c,) }";
}

TEST(HostileText, CountsOfScanAreCheckedBeforeTheyAreAdded) {
  EXPECT_NO_THROW(parse_program(scan("1", "1")));
  for (const char* consts : {"9223372036854775807", "-1", "-9223372036854775808", "3"}) {
    EXPECT_THAT(refusal(scan(consts, "1")), HasSubstr("do not fit a program of 2 inputs"));
    EXPECT_THAT(refusal(scan("1", consts)), HasSubstr("do not fit a program of 2 inputs"));
  }
}

TEST(HostileText, CountsOfWhileAreCheckedBeforeTheyAreAdded) {
  for (const char* count : {"9223372036854775807", "-1", "2"}) {
    for (const bool of_body : {false, true}) {
      EXPECT_THAT(
          refusal(std::string("{ lambda ; a:f32[]. let c:f32[] = while[body_jaxpr={ lambda ; "
                              "a:f32[]. let in (a,) } body_nconsts=") +
                  (of_body ? count : "0") +
                  " cond_jaxpr={ lambda ; a:f32[]. let b:bool[] = lt a a in (b,) } "
                  "cond_nconsts=" +
                  (of_body ? "0" : count) + "] a in (c,) }"),
          HasSubstr("do not fit programs of 1 and 1 inputs"));
    }
  }
}

TEST(HostileText, CountsOfCustomCallsAreThoseOfTheirOperands) {
  for (const char* name : {"custom_jvp_call", "custom_vjp_call", "custom_vmap_call"}) {
    for (const char* count : {"-1", "2", "9223372036854775807", "-9223372036854775808"}) {
      EXPECT_THAT(refusal(std::string("{ lambda ; a:f32[2]. let b:f32[2] = ") + name +
                          "[name=f call_jaxpr={ lambda ; a:f32[2]. let in (a,) } num_consts=" +
                          count + "] a in (b,) }"),
                  HasSubstr("num_consts must lie in [0, 1], the number of operands"));
    }
  }
  for (const char* count : {"-1", "1", "9223372036854775807"}) {
    EXPECT_THAT(refusal(std::string("{ lambda ; a:f32[2]. let b:f32[2] = custom_lin[bwd=f "
                                    "num_residuals=") +
                        count + " varies=(1,) output_types=(f32[2],)] a in (b,) }"),
                HasSubstr("do not make up the 1 operands"));
  }
  EXPECT_THAT(refusal("{ lambda ; a:f32[2]. let b:f32[2] = custom_lin[bwd=f num_residuals=0 "
                      "varies=(7,) output_types=(f32[2],)] a in (b,) }"),
              HasSubstr("varies must be 0 or 1"));
}

TEST(HostileText, SizesDoNotWrap) {
  const auto window = [](const std::string& size, const std::string& padding,
                         const std::string& dilation) {
    return "{ lambda ; a:f32[5]. let b:f32[4] = reduce_window_sum[base_dilation=(" + dilation +
           ",) padding=(" + padding + ",) window_dilation=(" + dilation + ",) window_dimensions=(" +
           size + ",) window_strides=(1,)] a in (b,) }";
  };
  EXPECT_NO_THROW(parse_program(window("2", "(0, 0)", "1")));
  for (const std::string& text :
       {window("2", "(0, 0)", "4611686018427387904"), window("4611686018427387905", "(0, 0)", "3"),
        window("2", "(9223372036854775807, 1)", "1"),
        window("2", "(-9223372036854775808, 9223372036854775807)", "1")}) {
    EXPECT_THAT(refusal(text), HasSubstr("does not fit into 64 bits")) << text;
  }
  EXPECT_THAT(refusal("{ lambda ; a:f32[2] b:f32[]. let c:f32[2] = pad[padding_config=((0, 0, "
                      "9223372036854775807),)] a b in (c,) }"),
              HasSubstr("makes dimension 0 of f32[2] too large"));
  EXPECT_THAT(refusal("{ lambda ; a:f32[4]. let b:f32[4] = slice[start_indices=(0,) "
                      "limit_indices=(4,) strides=(-2147483648,)] a in (b,) }"),
              HasSubstr("the stride of dimension 0 must be 1 or more, got -2147483648"));
}

TEST(HostileText, CostsDoNotWrap) {
  const ProgramPtr program = parse_program(
      "{ lambda ; a:i8[4611686018427387904,0] b:i8[0,1]. let c:i8[4611686018427387904,1] = "
      "dot_general[lhs_contracting=(1,) rhs_contracting=(0,) lhs_batch=() rhs_batch=()] a b "
      "in (c,) }");
  EXPECT_EQ(program->cost().flops, 0);
  const ProgramPtr sum = parse_program(
      "{ lambda ; a:i8[9223372036854775807]. let b:i8[9223372036854775807] = neg a in (b,) }");
  EXPECT_EQ(sum->cost().bytes, INT64_MAX);
}

TEST(HostileText, FieldsAreGivenOnceAndAreKnown) {
  EXPECT_THAT(refusal("{ lambda ; a:f32[2]. let b:f32[2] = rev[dimensions=(0,) dimensions=(0,)] a "
                      "in (b,) }"),
              HasSubstr("parameter \"dimensions\" is given twice"));
  EXPECT_THAT(
      refusal("{ lambda ; a:f32[2]. let b:f32[2] = rev[dimensions=(0,) other=1] a in (b,) }"),
      HasSubstr("there is no parameter \"other\""));
}

TEST(HostileText, NothingStandsBehindANullByte) {
  const std::string text = "{ lambda ; a:f32[2]. let in (a,) }";
  EXPECT_THAT(refusal(text + '\0' + "more"), HasSubstr("the program has ended, but text follows"));
  EXPECT_NO_THROW(parse_program(text + "\n# comment"));
}

TEST(HostileText, NumbersOfProgramsAreDefinedOnceAndBeforeTheyAreUsed) {
  const std::string call = " = jit[name=f jaxpr=";
  const std::string identity = "{ lambda ; a:f32[]. let in (a,) }";
  const auto calls = [&](const std::string& first, const std::string& second) {
    return "{ lambda ; a:f32[]. let b:f32[]" + call + first + "] a c:f32[]" + call + second +
           "] b in (c,) }";
  };
  EXPECT_NO_THROW(parse_program(calls("@1=" + identity, "@1")));
  EXPECT_THAT(refusal(calls("@1", "@1=" + identity)),
              HasSubstr("no program before this has the number 1"));
  EXPECT_THAT(refusal(calls("@1=" + identity, "@1=" + identity)),
              HasSubstr("two programs have the number 1"));
}

// ---- nested programs ----

Atom add_call(ProgramBuilder& builder, const ProgramPtr& program, Atom x) {
  return Atom::variable(
      builder.add_equation(primitive("jit"), make_params(JitParams{"f", program}), {&x, 1})[0]);
}

ProgramPtr call_twice(const ProgramPtr& program) {
  ProgramBuilder builder;
  Atom x = Atom::variable(builder.add_input(program->input_types()[0]));
  x = add_call(builder, program, add_call(builder, program, x));
  return builder.build({&x, 1});
}

// A program that runs another one 2^50 times.
ProgramPtr tower() {
  ProgramPtr program =
      parse_program("{ lambda ; a:f32[4]. let b:f32[4] = neg a c:f32[4] = exp b in (c,) }");
  for (int i = 0; i < 50; ++i) program = call_twice(program);
  return program;
}

TEST(HostileNesting, DepthIsBoundedWhereProgramsAreBuilt) {
  ProgramPtr program = parse_program("{ lambda ; a:f32[]. let b:f32[] = neg a in (b,) }");
  const auto wrapped = [&] {
    ProgramBuilder builder;
    const Atom x = add_call(builder, program,
                            Atom::variable(builder.add_input(ShapeDtype(DType::kFloat32, {}))));
    return builder.build({&x, 1});
  };
  for (int64_t i = 1; i < kMaxProgramDepth; ++i) program = wrapped();
  EXPECT_THAT(error_of(ErrorCode::kInvalidArgument, [&] { wrapped(); }),
              HasSubstr("programs are nested more than 256 deep"));
}

TEST(HostileNesting, SavedProgramsNestedByReferenceAreRefused) {
  std::string text = "metadata {} program \"\" { lambda ; a:f32[]. let in (a,) }";
  for (int i = 0; i < 30000; ++i) {
    text += " program \"\" { lambda ; a:f32[]. let b:f32[] = jit[name=f jaxpr=@" +
            std::to_string(i) + "] a in (b,) }";
  }
  EXPECT_THAT(
      error_of(ErrorCode::kInvalidArgument, [&] { deserialize_program(saved_bytes(text)); }),
      HasSubstr("programs are nested more than 256 deep"));
}

TEST(HostileSharing, TowersAreEqualPrintedAndReadBack) {
  const ProgramPtr a = tower(), b = tower();
  EXPECT_TRUE(*a == *b);
  EXPECT_TRUE(*a == *b);  // uses the result of the first comparison
  const std::string text = to_text(*a);
  EXPECT_LT(text.size(), 100000u);
  const ProgramPtr read = parse_program(text);
  EXPECT_TRUE(*read == *a);
  EXPECT_EQ(to_text(*read), text);
  EXPECT_TRUE(*deserialize_program(serialize_program(*a)).program == *a);
  EXPECT_EQ(nesting_of(*a).depth, 51);
  EXPECT_EQ(a->cost().flops, int64_t{8} << 50);
  EXPECT_FALSE(to_dot(*a).empty());
  EXPECT_FALSE(to_svg(*a).empty());
}

// Two kinds of programs alternate, so that earlier comparisons are looked up from both sides.
TEST(HostileSharing, EqualityEndsForMixedTowers) {
  ProgramPtr a = parse_program("{ lambda ; a:f32[4]. let b:f32[4] = neg a in (b,) }");
  ProgramPtr b = parse_program(to_text(*a)), mixed = b;
  for (int i = 0; i < 50; ++i) {
    ProgramBuilder builder;
    Atom x = Atom::variable(builder.add_input(a->input_types()[0]));
    x = add_call(builder, b, add_call(builder, a, x));
    const ProgramPtr next = builder.build({&x, 1});
    mixed = call_twice(mixed);
    a = call_twice(a);
    b = next;
  }
  EXPECT_TRUE(*a == *mixed);
  EXPECT_TRUE(*b == *mixed);
  EXPECT_TRUE(*b == *a);
  EXPECT_FALSE(*a == *tower());
}

TEST(HostileSharing, ProgramsThatRunTwiceArePrintedOnce) {
  const ProgramPtr inner = parse_program("{ lambda ; a:f32[]. let b:f32[] = neg a in (b,) }");
  EXPECT_EQ(to_text(*call_twice(inner)),
            "{ lambda ; a:f32[]. let\n"
            "    b:f32[] = jit[\n"
            "      name=f\n"
            "      jaxpr=@1={ lambda ; a:f32[]. let\n"
            "          b:f32[] = neg a\n"
            "        in (b,) }\n"
            "    ] a\n"
            "    c:f32[] = jit[\n"
            "      name=f\n"
            "      jaxpr=@1\n"
            "    ] b\n"
            "  in (c,) }");
}

TEST(HostileSharing, ExpansionIsRefused) {
  EXPECT_THAT(error_of(ErrorCode::kResourceExhausted, [] { check_expansion(*tower(), "compile"); }),
              HasSubstr("compile: inlining the nested programs, which several equations share, "
                        "would give 4503599627370494 equations"));
}

struct Interrupted {};

TEST(HostileSharing, WalkingEveryEquationIsInterrupted) {
  set_interrupt_check([] { throw Interrupted(); });
  EXPECT_THROW(for_each_equation(*tower(), [](const Program&, const Equation&, size_t) {}),
               Interrupted);
  set_interrupt_check(nullptr);
}

}  // namespace
}  // namespace farcall
