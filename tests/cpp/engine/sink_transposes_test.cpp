// Elementwise operations move before transposes if that saves transposes.
#include <gtest/gtest.h>

#include "engine/native/sink_transposes.h"
#include "pass_text.h"

namespace farcall::native {
namespace {

std::string sunk(const std::string& text) { return after_pass(sink_transposes, text); }

TEST(SinkTransposes, ThatTheResultTurnsBack) {
  EXPECT_EQ(sunk("{ lambda ; a:f32[2,3] s:f32[]. let b:f32[3,2] = transpose[permutation=(1, 0)] a "
                 "c:f32[3,2] = mul b s d:f32[3,2] = add b c e:f32[2,3] = transpose[permutation=(1, "
                 "0)] d in (e,) }"),
            printed("{ lambda ; a:f32[2,3] s:f32[]. let b:f32[2,3] = mul a s c:f32[2,3] = add a b "
                    "in (c,) }"));
}

TEST(SinkTransposes, OneOfTheResultInsteadOfTwoOfOperands) {
  EXPECT_EQ(
      sunk("{ lambda ; a:f32[2,3,4] b:f32[2,3,4]. let c:f32[4,2,3] = transpose[permutation="
           "(2, 0, 1)] a d:f32[4,2,3] = transpose[permutation=(2, 0, 1)] b e:bool[4,2,3] = lt "
           "c d in (e,) }"),
      printed("{ lambda ; a:f32[2,3,4] b:f32[2,3,4]. let c:bool[2,3,4] = lt a b d:bool[4,2,3]"
              " = transpose[permutation=(2, 0, 1)] c in (d,) }"));
}

TEST(SinkTransposes, InLoops) {
  const auto loop = [](const std::string& step) {
    return "{ lambda ; a:f32[2,3]. let b:f32[2,3] = scan[jaxpr=" + step +
           " length=3 num_carry=1 num_consts=0 reverse=False unroll=1] a in (b,) }";
  };
  EXPECT_EQ(sunk(loop("{ lambda ; a:f32[2,3]. let b:f32[3,2] = transpose[permutation=(1, 0)] a "
                      "c:f32[3,2] = neg b d:f32[2,3] = transpose[permutation=(1, 0)] c in (d,) }")),
            printed(loop("{ lambda ; a:f32[2,3]. let b:f32[2,3] = neg a in (b,) }")));
}

TEST(SinkTransposes, NotWhereNoneIsSaved) {
  for (const std::string text : {
           // One transpose before and one after.
           "{ lambda ; a:f32[2,3]. let b:f32[3,2] = transpose[permutation=(1, 0)] a c:f32[3,2] = "
           "neg b in (c,) }",
           // The transposed operands have other readers.
           "{ lambda ; a:f32[2,3] z:f32[2,3]. let b:f32[3,2] = transpose[permutation=(1, 0)] a "
           "c:f32[3,2] = transpose[permutation=(1, 0)] z d:f32[3,2] = add b c in (b, c, d) }",
           // They are transposed differently.
           "{ lambda ; a:f32[2,2,2]. let b:f32[2,2,2] = transpose[permutation=(1, 0, 2)] a "
           "c:f32[2,2,2] = transpose[permutation=(2, 1, 0)] a d:f32[2,2,2] = add b c in (d,) }",
           // Only one operand is transposed.
           "{ lambda ; a:f32[2,2]. let b:f32[2,2] = transpose[permutation=(1, 0)] a c:f32[2,2] = "
           "add a b d:f32[2,2] = transpose[permutation=(1, 0)] c in (d,) }",
       }) {
    EXPECT_EQ(sunk(printed(text)), printed(text));
  }
}

TEST(SinkTransposes, NotOfWhatAForeignCallReads) {
  const std::string text = printed(
      "{ lambda ; a:f32[2,3]. let b:f32[3,2] = transpose[permutation=(1, 0)] a c:f32[3,2] = neg b "
      "d:f32[2,3] = transpose[permutation=(1, 0)] c e:f32[3,2] = ffi_call[attributes={} "
      "batched_operands=() custom_call_api_version=4 has_side_effect=False input_layouts=(None,) "
      "input_output_aliases=() legacy_backend_config=None output_layouts=(None,) "
      "result_types=(f32[3,2],) target_name=any vmap_method=None] c in (d, e) }");
  EXPECT_EQ(sunk(text), text);
}

}  // namespace
}  // namespace farcall::native
