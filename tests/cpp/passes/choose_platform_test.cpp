// Platform branches are resolved at compilation.
#include <farcall/program/program.h>

#include "passes.h"

namespace farcall {
namespace {

using testing::expect_after;
using testing::expect_same;

constexpr std::string_view kPlatforms = "platform_index[platforms=((cpu,), (cuda, rocm)) ";

ProgramPtr for_cpu(const ProgramPtr& program) { return choose_platform(program, "cpu"); }

std::string choice(const std::string& has_default) {
  return "{ lambda ; a:f32[2]. let b:i32[] = " + std::string(kPlatforms) +
         "has_default=" + has_default +
         "] c:f32[2] = cond[branches=({ lambda ; a:f32[2]. let b:f32[2] = neg a in (b,) }, { "
         "lambda ; a:f32[2]. let b:f32[2] = abs a in (b,) }, { lambda ; a:f32[2]. let in (a,) })] "
         "b a in (c,) }";
}

TEST(ChoosePlatform, TakesTheBranchOfThePlatform) {
  expect_after(choice("True"), for_cpu, "{ lambda ; a:f32[2]. let b:f32[2] = neg a in (b,) }");
  const ProgramPtr program = parse_program(choice("True"));
  EXPECT_TRUE(*choose_platform(program, "rocm") ==
              *parse_program("{ lambda ; a:f32[2]. let b:f32[2] = abs a in (b,) }"));
  EXPECT_TRUE(*choose_platform(program, "tpu") ==
              *parse_program("{ lambda ; a:f32[2]. let in (a,) }"));
}

TEST(ChoosePlatform, NoFunctionForThePlatformIsAnErrorWithTheLine) {
  const auto error_of = [](const ProgramPtr& program) -> std::string {
    try {
      choose_platform(program, "tpu");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnimplemented);
      return std::string(error.message());
    }
    return "no error was raised";
  };
  const ProgramPtr program = parse_program(choice("False"));
  const std::string text =
      "platform_dependent: no function for platform tpu, only for cpu, cuda, rocm; add "
      "one, or a default";
  EXPECT_EQ(error_of(program), text);
  Program placed = *program;
  placed.equations[0].where =
      std::make_shared<const SourceLocation>(SourceLocation{"model.py", 12, "forward"});
  EXPECT_EQ(error_of(std::make_shared<const Program>(placed)),
            text + "\n  at model.py:12 (forward)");
}

TEST(ChoosePlatform, AKnownBranchIsTakenAndItsNumberClamped) {
  const auto before = [](const std::string& index) {
    return "{ lambda ; a:f32[2]. let c:f32[2] = cond[branches=({ lambda ; a:f32[2]. let b:f32[2] = "
           "neg a in (b,) }, { lambda ; a:f32[2]. let b:f32[2] = abs a in (b,) })] " +
           index + ":i32[] a in (c,) }";
  };
  expect_after(before("-3"), for_cpu, "{ lambda ; a:f32[2]. let b:f32[2] = neg a in (b,) }");
  expect_after(before("7"), for_cpu, "{ lambda ; a:f32[2]. let b:f32[2] = abs a in (b,) }");
}

TEST(ChoosePlatform, NumbersOfLoopsDecideInside) {
  expect_after(
      "{ lambda ; a:f32[2]. let b:f32[2] = scan[jaxpr={ lambda ; a:i32[] b:f32[2]. let c:f32[2] = "
      "cond[branches=({ lambda ; a:f32[2]. let b:f32[2] = neg a in (b,) }, { lambda ; a:f32[2]. "
      "let b:f32[2] = abs a in (b,) })] a b in (c,) } length=3 num_carry=1 num_consts=1 "
      "reverse=False unroll=1] 1:i32[] a in (b,) }",
      for_cpu,
      "{ lambda ; a:f32[2]. let b:f32[2] = scan[jaxpr={ lambda ; a:f32[2]. let b:f32[2] = abs a "
      "in (b,) } length=3 num_carry=1 num_consts=0 reverse=False unroll=1] a in (b,) }");
  expect_after(
      "{ lambda ; a:f32[]. let b:f32[] = while[body_jaxpr={ lambda ; a:f32[] b:f32[]. let c:f32[] "
      "= add b a in (c,) } body_nconsts=1 cond_jaxpr={ lambda ; a:f32[] b:f32[]. let c:bool[] = lt "
      "b a in (c,) } cond_nconsts=1] 4.0:f32[] 1.0:f32[] a in (b,) }",
      for_cpu,
      "{ lambda ; a:f32[]. let b:f32[] = while[body_jaxpr={ lambda ; a:f32[]. let c:f32[] = add a "
      "1.0:f32[] in (c,) } body_nconsts=0 cond_jaxpr={ lambda ; a:f32[]. let c:bool[] = lt a "
      "4.0:f32[] in (c,) } cond_nconsts=0] a in (b,) }");
}

TEST(ChoosePlatform, AnUnknownBranchStays) {
  expect_same(
      "{ lambda ; a:i32[] b:f32[2]. let c:f32[2] = cond[branches=({ lambda ; a:f32[2]. let in "
      "(a,) }, { lambda ; a:f32[2]. let b:f32[2] = neg a in (b,) })] a b in (c,) }",
      for_cpu);
}

}  // namespace
}  // namespace farcall
