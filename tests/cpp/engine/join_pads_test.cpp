// Sums of arrays that are padded with zeros become concatenations.
#include <gtest/gtest.h>

#include "engine/native/join_pads.h"
#include "pass_text.h"

namespace farcall::native {
namespace {

std::string joined_pads(const std::string& text) { return after_pass(join_pads, text); }

// A sum of b = -a from index 2 on, and of c = 2 a at the beginning.
std::string padded_sum(const std::string& first_config, const std::string& second_config,
                       const std::string& zero = "0.0:f32[]") {
  return "{ lambda ; a:f32[2]. let b:f32[2] = neg a c:f32[2] = mul a 2.0:f32[] d:f32[4] = "
         "pad[padding_config=(" +
         first_config + ",)] b " + zero + " e:f32[4] = pad[padding_config=(" + second_config +
         ",)] c 0.0:f32[] f:f32[4] = add d e in (f,) }";
}

TEST(JoinPads, InOrderWithZeroAdded) {
  EXPECT_EQ(joined_pads(padded_sum("(2, 0, 0)", "(0, 2, 0)")),
            printed("{ lambda ; a:f32[2]. let b:f32[2] = neg a c:f32[2] = mul a 2.0:f32[] d:f32[2] "
                    "= add c 0.0:f32[] e:f32[2] = add b 0.0:f32[] f:f32[4] = "
                    "concatenate[dimension=0] d e in (f,) }"));
}

TEST(JoinPads, SeveralWithZerosBetween) {
  EXPECT_EQ(
      joined_pads(
          "{ lambda ; a:i32[2,1]. let b:i32[2,5] = pad[padding_config=((0, 0, 0), (3, 1, 0))] a "
          "0:i32[] c:i32[2,5] = pad[padding_config=((0, 0, 0), (0, 4, 0))] a 0:i32[] d:i32[2,5] "
          "= add b c e:i32[2,5] = pad[padding_config=((0, 0, 0), (1, 3, 0))] a 0:i32[] "
          "f:i32[2,5] = add d e in (f,) }"),
      printed("{ lambda ; a:i32[2,1]. let b:i32[2,1] = broadcast_in_dim[shape=(2, 1) "
              "broadcast_dimensions=()] 0:i32[] c:i32[2,1] = broadcast_in_dim[shape=(2, 1) "
              "broadcast_dimensions=()] 0:i32[] d:i32[2,5] = concatenate[dimension=1] a a b a c in "
              "(d,) }"));
}

TEST(JoinPads, NotWhereTheyOverlapOrAreNotZero) {
  for (const std::string& text : {
           padded_sum("(1, 1, 0)", "(0, 2, 0)"),
           padded_sum("(2, 0, 0)", "(0, 2, 0)", "-0.0:f32[]"),
           padded_sum("(2, 0, 0)", "(0, 2, 0)", "1.0:f32[]"),
       }) {
    EXPECT_EQ(joined_pads(text), printed(text));
  }
}

TEST(JoinPads, NotWhereAPadHasOtherReadersOrZeroWouldCostAPass) {
  for (const std::string text : {
           "{ lambda ; a:i32[2]. let b:i32[4] = pad[padding_config=((2, 0, 0),)] a 0:i32[] c:i32[4]"
           " = pad[padding_config=((0, 2, 0),)] a 0:i32[] d:i32[4] = add b c in (b, d) }",
           "{ lambda ; a:f32[2]. let b:f32[4] = pad[padding_config=((2, 0, 0),)] a 0.0:f32[] "
           "c:f32[4] = pad[padding_config=((0, 2, 0),)] a 0.0:f32[] d:f32[4] = add b c in (d,) }",
       }) {
    EXPECT_EQ(joined_pads(text), printed(text));
  }
}

}  // namespace
}  // namespace farcall::native
