// Operations of which only slices are read work on slices.
#include <gtest/gtest.h>

#include "engine/native/sink_slices.h"
#include "pass_text.h"

namespace farcall::native {
namespace {

std::string sunk_slices(const std::string& text) { return after_pass(sink_slices, text); }

const std::string kFirstHalf = "slice[start_indices=(0, 0) limit_indices=(90, 50) strides=(1, 1)]";
const std::string kLastHalf = "slice[start_indices=(0, 50) limit_indices=(90, 100) strides=(1, 1)]";

TEST(SinkSlices, OfInputs) {
  EXPECT_EQ(
      sunk_slices("{ lambda ; a:f32[90,100] s:f32[]. let b:f32[90,100] = mul a s c:f32[90,100] = "
                  "neg b d:f32[90,50] = " +
                  kFirstHalf + " c e:f32[90,50] = " + kLastHalf +
                  " c f:f32[90,50] = add d e in (f,) }"),
      printed("{ lambda ; a:f32[90,100] s:f32[]. let b:f32[90,50] = " + kLastHalf +
              " a c:f32[90,50] = mul b s d:f32[90,50] = " + kFirstHalf +
              " a e:f32[90,50] = mul d s f:f32[90,50] = neg c g:f32[90,50] = neg e "
              "h:f32[90,50] = add g f in (h,) }"));
}

TEST(SinkSlices, OfConcatenationsTheirOperands) {
  EXPECT_EQ(sunk_slices("{ lambda ; a:f32[90,50] b:f32[90,50]. let c:f32[90,100] = "
                        "concatenate[dimension=1] a b d:f32[90,100] = neg c e:f32[90,50] = " +
                        kLastHalf + " d in (e,) }"),
            printed("{ lambda ; a:f32[90,50] b:f32[90,50]. let c:f32[90,50] = neg b in (c,) }"));
}

TEST(SinkSlices, NotWhereTheWholeIsReadOrComputedMoreThanOnce) {
  const std::string neg = "{ lambda ; a:f32[90,100]. let b:f32[90,100] = neg a c:f32[90,50] = ";
  for (const std::string& text : {
           neg + kFirstHalf + " b in (b, c) }",
           neg + kFirstHalf + " b d:f32[100] = reduce_sum[axes=(0,)] b in (c, d) }",
           // The slices have more elements than the whole.
           neg + kFirstHalf +
               " b d:f32[89,100] = slice[start_indices=(1, 0) limit_indices=(90, 100) "
               "strides=(1, 1)] b in (c, d) }",
       }) {
    EXPECT_EQ(sunk_slices(printed(text)), printed(text));
  }
}

TEST(SinkSlices, NotPastWhatAClusterComputes) {
  // d is read as a whole: slices of it would be read from memory.
  const std::string text = printed(
      "{ lambda ; a:f32[90,100]. let b:f32[90,100] = exp a c:f32[90] = reduce_sum[axes=(1,)] b "
      "d:f32[90,100] = neg b e:f32[90,50] = " +
      kFirstHalf + " d in (c, e) }");
  EXPECT_EQ(sunk_slices(text), text);
}

TEST(SinkSlices, NotOfWhatAForeignCallReads) {
  const std::string text = printed(
      "{ lambda ; a:f32[90,100]. let b:f32[90,100] = neg a c:f32[90,50] = " + kFirstHalf +
      " b e:f32[90,50] = ffi_call[attributes={} batched_operands=() custom_call_api_version=4 "
      "has_side_effect=False input_layouts=(None,) input_output_aliases=() "
      "legacy_backend_config=None output_layouts=(None,) result_types=(f32[90,50],) "
      "target_name=any vmap_method=None] c in (e,) }");
  EXPECT_EQ(sunk_slices(text), text);
}

}  // namespace
}  // namespace farcall::native
