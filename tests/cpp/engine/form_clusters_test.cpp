// Which equations are grouped into clusters.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <farcall/primitives/cluster.h>
#include <farcall/program/engine.h>
#include <farcall/program/text.h>
#include <farcall/program/verify.h>
#include <farcall/trace/placement.h>

#include "engine/native/form_clusters.h"

namespace farcall::native {
namespace {

using ::testing::ElementsAre;

// The primitives of each cluster and of the equations between them, in order.
std::vector<std::string> grouping(const std::string& text) {
  const ProgramPtr program = form_clusters(parse_program(text));
  verify(*program);
  std::vector<std::string> all;
  for (const Equation& equation : program->equations) {
    std::string names(equation.primitive->name);
    if (const auto* params = try_params<ClusterParams>(equation.params.get())) {
      names.clear();
      for (const Equation& member : params->jaxpr->equations) {
        names.append(names.empty() ? "(" : " ").append(member.primitive->name);
      }
      names.append(")");
    }
    all.push_back(names);
  }
  return all;
}

TEST(FormClusters, AChainIsOneEquation) {
  const ProgramPtr program = form_clusters(parse_program(
      "{ lambda ; a:f32[2,3]. let b:f32[2,3] = tanh a c:f32[2,3] = mul b a d:f32[2,3] = add c "
      "1.0:f32[] in (d,) }"));
  EXPECT_EQ(to_text(*program),
            to_text(*parse_program(
                "{ lambda ; a:f32[2,3]. let b:f32[2,3] = cluster[jaxpr={ lambda ; a:f32[2,3]. let "
                "b:f32[2,3] = tanh a c:f32[2,3] = mul b a d:f32[2,3] = add c 1.0:f32[] in (d,) }] "
                "a in (b,) }")));
}

TEST(FormClusters, TheExecutableTellsWhatItRuns) {
  const ProgramPtr program = parse_program(
      "{ lambda ; a:f32[2,3]. let b:f32[2,3] = tanh a c:f32[2,3] = mul b a in (c,) }");
  const auto executable = default_engine().compile(program, {});
  EXPECT_EQ(to_text(*executable->optimized_program()), to_text(*form_clusters(program)));
  EXPECT_EQ(executable->program_ptr(), program);
}

TEST(FormClusters, BranchesThatMeetAreOne) {
  EXPECT_THAT(grouping("{ lambda ; a:f32[4] b:f32[4]. let c:f32[4] = mul a b d:f32[4] = add c a "
                       "e:f32[4] = mul 2.0:f32[] b f:f32[4] = sub d e in (f, d) }"),
              ElementsAre("(mul add mul sub)"));
}

TEST(FormClusters, OneEquationStaysAlone) {
  const ProgramPtr program = parse_program("{ lambda ; a:f32[4]. let b:f32[4] = neg a in (b,) }");
  EXPECT_EQ(form_clusters(program), program);
  EXPECT_THAT(grouping("{ lambda ; a:f32[4] b:f32[5]. let c:f32[4] = neg a d:f32[5] = neg b in (c, "
                       "d) }"),
              ElementsAre("neg", "neg"));
}

TEST(FormClusters, RowsWithTheirReductions) {
  EXPECT_THAT(
      grouping("{ lambda ; a:f32[4,8]. let b:f32[4] = reduce_max[axes=(1,)] a c:f32[4,1] = "
               "reshape[new_sizes=(4, 1)] b d:f32[4,8] = broadcast_in_dim[shape=(4, 8) "
               "broadcast_dimensions=(0, 1)] c e:f32[4,8] = sub a d f:f32[4,8] = exp e g:f32[4] = "
               "reduce_sum[axes=(1,)] f h:f32[4,8] = broadcast_in_dim[shape=(4, 8) "
               "broadcast_dimensions=(0,)] g i:f32[4,8] = div f h in (i,) }"),
      ElementsAre("(reduce_max reshape broadcast_in_dim sub exp reduce_sum broadcast_in_dim div)"));
}

TEST(FormClusters, NotReductionsOfOtherDimensionsOrOfLongRows) {
  EXPECT_THAT(grouping("{ lambda ; a:f32[2,4,8]. let b:f32[2,4,8] = neg a c:f32[2,8] = "
                       "reduce_sum[axes=(1,)] b d:f32[2,8] = exp c in (d,) }"),
              ElementsAre("neg", "reduce_sum", "exp"));
  EXPECT_THAT(grouping("{ lambda ; a:f32[2,100000]. let b:f32[2,100000] = neg a c:f32[2] = "
                       "reduce_sum[axes=(1,)] b d:f32[2] = exp c in (d,) }"),
              ElementsAre("neg", "reduce_sum", "exp"));
}

TEST(FormClusters, ColumnsWithTheReductionThatEndsThem) {
  EXPECT_THAT(
      grouping("{ lambda ; a:f32[4,8] m:f32[8]. let b:f32[4,8] = "
               "broadcast_in_dim[shape=(4, 8) broadcast_dimensions=(1,)] m c:f32[4,8] = sub "
               "a b d:f32[4,8] = mul c c e:f32[8] = reduce_sum[axes=(0,)] d f:f32[8] = exp "
               "e g:f32[4,8] = neg d in (f, g) }"),
      ElementsAre("(broadcast_in_dim sub mul reduce_sum)", "exp", "neg"));
  // An operand need not be computed, and a cluster with row reductions has no column reduction.
  EXPECT_THAT(grouping("{ lambda ; a:f32[4,8]. let b:f32[8] = reduce_sum[axes=(0,)] a c:f32[4] = "
                       "reduce_sum[axes=(1,)] a d:f32[4,8] = broadcast_in_dim[shape=(4, 8) "
                       "broadcast_dimensions=(0,)] c e:f32[4,8] = sub a d f:f32[8] = "
                       "reduce_max[axes=(0,)] e in (b, f) }"),
              ElementsAre("reduce_sum", "(reduce_sum broadcast_in_dim sub)", "reduce_max"));
}

TEST(FormClusters, WhatAnotherEquationReadsEndsAGroup) {
  EXPECT_THAT(grouping("{ lambda ; a:f32[4]. let b:f32[4] = neg a c:f32[4] = exp b d:f32[4] = "
                       "rev[dimensions=(0,)] c e:f32[4] = add c d f:f32[4] = mul e b in (f,) }"),
              ElementsAre("(neg exp)", "rev", "(add mul)"));
}

TEST(FormClusters, NothingMovesPastAnUpdateOrALoop) {
  EXPECT_THAT(grouping("{ lambda ; a:f32[4] b:f32[1] i:i32[]. let c:f32[4] = neg a d:f32[4] = "
                       "dynamic_update_slice a b i e:f32[4] = exp c in (d, e) }"),
              ElementsAre("neg", "dynamic_update_slice", "exp"));
  EXPECT_THAT(grouping("{ lambda ; a:f32[4]. let c:f32[4] = neg a d:f32[4] = scan[jaxpr={ lambda ; "
                       "a:f32[4]. let b:f32[4] = neg a c:f32[4] = exp b in (c,) } length=3 "
                       "num_carry=1 num_consts=0 reverse=False unroll=1] a e:f32[4] = exp c in (d, "
                       "e) }"),
              ElementsAre("neg", "scan", "exp"));
}

TEST(FormClusters, InTheBodiesOfLoops) {
  const ProgramPtr program = form_clusters(parse_program(
      "{ lambda ; a:f32[4]. let d:f32[4] = scan[jaxpr={ lambda ; a:f32[4]. let b:f32[4] = neg a "
      "c:f32[4] = exp b in (c,) } length=3 num_carry=1 num_consts=0 reverse=False unroll=1] a in "
      "(d,) }"));
  EXPECT_NE(to_text(*program).find("cluster"), std::string::npos);
}

TEST(FormClusters, ViewsAndBroadcastsOfItsResultsStayOutside) {
  EXPECT_THAT(grouping("{ lambda ; a:f32[6]. let b:f32[6] = neg a c:f32[2,3] = "
                       "reshape[new_sizes=(2, 3)] b d:f32[6] = exp b e:f32[5,6] = "
                       "broadcast_in_dim[shape=(5, 6) broadcast_dimensions=(1,)] d in (c, d, e) }"),
              ElementsAre("(neg exp)", "reshape", "broadcast_in_dim"));
}

TEST(FormClusters, PartsOfOperandsAndCountedNumbers) {
  // A cluster does not move values that it computes, few transposed elements, long rows of them, or
  // short runs.
  EXPECT_THAT(
      grouping("{ lambda ; a:f32[40]. let b:f32[32] = slice[start_indices=(8,) limit_indices=(40,) "
               "strides=(1,)] a c:f32[32] = rev[dimensions=(0,)] b d:f32[32] = "
               "iota[dtype=f32 shape=(32,) dimension=0] e:f32[32] = mul c d f:f32[32] = "
               "rev[dimensions=(0,)] e g:f32[32] = add f f h:f32[32] = neg g in (h,) }"),
      ElementsAre("slice", "(rev iota mul)", "(rev add neg)"));
  EXPECT_THAT(grouping("{ lambda ; a:f32[32,32]. let b:f32[32,32] = transpose[permutation=(1, 0)] "
                       "a c:f32[32,32] = neg b d:f32[32,2] = slice[start_indices=(0, 0) "
                       "limit_indices=(32, 2) strides=(1, 1)] a e:f32[32,2] = neg d in (c, e) }"),
              ElementsAre("transpose", "neg", "slice", "neg"));
  EXPECT_THAT(grouping("{ lambda ; a:f32[512,1024]. let b:f32[1024,512] = "
                       "transpose[permutation=(1, 0)] a c:f32[1024,512] = neg b in (c,) }"),
              ElementsAre("(transpose neg)"));
  EXPECT_THAT(grouping("{ lambda ; a:f32[512,1024]. let b:f32[1024,512] = "
                       "transpose[permutation=(1, 0)] a c:f32[1024,512] = neg b d:f32[1024] = "
                       "reduce_max[axes=(1,)] c in (d,) }"),
              ElementsAre("(transpose neg)", "reduce_max"));
  EXPECT_THAT(grouping("{ lambda ; a:f32[5000,100]. let b:f32[100,5000] = "
                       "transpose[permutation=(1, 0)] a c:f32[100,5000] = neg b in (c,) }"),
              ElementsAre("transpose", "neg"));
}

TEST(FormClusters, GroupsOfAnyNumberStayApartFromEachOther) {
  // Each group reads the previous one through a reversal.
  std::string text = "{ lambda ; a:f32[4]. let ", last = "a";
  for (int i = 0; i < 3000; ++i) {
    text += fmt::format(
        "x{0}:f32[4] = neg {1} y{0}:f32[4] = exp x{0} z{0}:f32[4] = rev[dimensions=(0,)] y{0} ", i,
        last);
    last = fmt::format("z{}", i);
  }
  const ProgramPtr program = form_clusters(parse_program(text + "in (" + last + ",) }"));
  EXPECT_EQ(program->equations.size(), 6000u);
}

TEST(FormClusters, ALongChainIsCut) {
  std::string text = "{ lambda ; a:f32[4]. let ", last = "a";
  for (int i = 0; i < 2000; ++i) {
    const std::string name = fmt::format("v{}", i);
    text += fmt::format("{}:f32[4] = neg {} ", name, last);
    last = name;
  }
  const ProgramPtr program = form_clusters(parse_program(text + "in (" + last + ",) }"));
  EXPECT_LT(program->equations.size(), 10u);
  EXPECT_GT(program->equations.size(), 1u);
}

TEST(FormClusters, SlicesSideBySideAreReadInPlace) {
  EXPECT_THAT(
      grouping("{ lambda ; x:f32[4,40]. let a:f32[4,1] = slice[start_indices=(0, 39) "
               "limit_indices=(4, 40) strides=(1, 1)] x b:f32[4,39] = "
               "slice[start_indices=(0, 0) limit_indices=(4, 39) strides=(1, 1)] x "
               "c:f32[4,40] = concatenate[dimension=1] a b d:f32[4,40] = sub c x in (d,) }"),
      ElementsAre("(slice slice concatenate sub)"));
  // A slice that others read too, one with gaps in its rows, and one before an update stay outside.
  EXPECT_THAT(
      grouping("{ lambda ; x:f32[4,40]. let a:f32[4,20] = slice[start_indices=(0, 20) "
               "limit_indices=(4, 40) strides=(1, 1)] x b:f32[4,20] = "
               "slice[start_indices=(0, 0) limit_indices=(4, 40) strides=(1, 2)] x "
               "c:f32[4,40] = concatenate[dimension=1] a b d:f32[4,40] = sub c x in (d, a) }"),
      ElementsAre("slice", "slice", "(concatenate sub)"));
  EXPECT_THAT(
      grouping("{ lambda ; x:f32[40] u:f32[1] i:i32[]. let a:f32[20] = "
               "slice[start_indices=(20,) limit_indices=(40,) strides=(1,)] x w:f32[40] = "
               "dynamic_update_slice x u i b:f32[20] = slice[start_indices=(0,) "
               "limit_indices=(20,) strides=(1,)] w c:f32[40] = concatenate[dimension=0] a b "
               "d:f32[40] = sub c w in (d,) }"),
      ElementsAre("slice", "dynamic_update_slice", "(slice concatenate sub)"));
}

TEST(FormClusters, EmptySlicesAreNotReadInPlace) {
  EXPECT_THAT(
      grouping("{ lambda ; x:f32[4,40]. let a:f32[4,0] = slice[start_indices=(0, 40) "
               "limit_indices=(4, 40) strides=(1, 1)] x b:f32[4,40] = concatenate[dimension=1] "
               "a x c:f32[4,40] = neg b d:f32[4,40] = exp c in (d,) }"),
      ElementsAre("slice", "(concatenate neg exp)"));
}

TEST(FormClusters, SlicesOfItsResultsAreReadByTheNextCluster) {
  EXPECT_THAT(grouping("{ lambda ; x:f32[40]. let y:f32[40] = exp x z:f32[40] = neg y a:f32[20] = "
                       "slice[start_indices=(20,) limit_indices=(40,) strides=(1,)] z b:f32[20] = "
                       "slice[start_indices=(0,) limit_indices=(20,) strides=(1,)] z c:f32[40] = "
                       "concatenate[dimension=0] a b d:f32[40] = sub c z in (d,) }"),
              ElementsAre("(exp neg)", "(slice slice concatenate sub)"));
}

TEST(FormClusters, BroadcastsThatFitNoRowsAreMoves) {
  // The distances of all pairs, and a mask for all examples before a reduction of shorter rows.
  EXPECT_THAT(grouping("{ lambda ; x:f32[5,16] y:f32[7,16]. let a:f32[5,7,16] = "
                       "broadcast_in_dim[shape=(5, 7, 16) broadcast_dimensions=(0, 2)] x "
                       "b:f32[5,7,16] = broadcast_in_dim[shape=(5, 7, 16) broadcast_dimensions=(1, "
                       "2)] y c:f32[5,7,16] = sub a b d:f32[5,7,16] = mul c c e:f32[5,7] = "
                       "reduce_sum[axes=(2,)] d in (e,) }"),
              ElementsAre("(broadcast_in_dim broadcast_in_dim sub mul reduce_sum)"));
  EXPECT_THAT(
      grouping("{ lambda ; x:f32[3,8,16] m:f32[8,16]. let a:f32[3,8,16] = "
               "broadcast_in_dim[shape=(3, 8, 16) broadcast_dimensions=(1, 2)] m "
               "b:f32[3,8,16] = add x a c:f32[3,8] = reduce_max[axes=(2,)] b d:f32[3,8,16] = "
               "broadcast_in_dim[shape=(3, 8, 16) broadcast_dimensions=(0, 1)] c "
               "e:f32[3,8,16] = sub b d in (e,) }"),
      ElementsAre("(broadcast_in_dim add reduce_max broadcast_in_dim sub)"));
  // Values that the cluster computes are not moved.
  EXPECT_THAT(
      grouping("{ lambda ; x:f32[5,16] y:f32[5,7,16]. let z:f32[5,16] = exp x a:f32[5,7,16] "
               "= broadcast_in_dim[shape=(5, 7, 16) broadcast_dimensions=(0, 2)] z "
               "b:f32[5,7,16] = sub y a in (b,) }"),
      ElementsAre("exp", "(broadcast_in_dim sub)"));
}

TEST(FormClusters, ConcatenatedOperands) {
  // Short operands, and operands that the cluster computes, stay outside.
  EXPECT_THAT(
      grouping("{ lambda ; x:f32[40] y:f32[6] z:f32[9]. let a:f32[15] = "
               "concatenate[dimension=0] z y b:f32[15] = neg a c:f32[40] = exp x d:f32[80] = "
               "concatenate[dimension=0] c x e:f32[80] = neg d in (b, e) }"),
      ElementsAre("concatenate", "neg", "exp", "(concatenate neg)"));
}

TEST(FormClusters, DynamicSlices) {
  EXPECT_THAT(grouping("{ lambda ; x:f32[90] i:i32[]. let a:f32[60] = "
                       "dynamic_slice[slice_sizes=(60,)] x i b:f32[60] = neg a c:i32[] = mul i i "
                       "d:f32[60] = dynamic_slice[slice_sizes=(60,)] x c e:f32[60] = exp d in (b, "
                       "e) }"),
              ElementsAre("(dynamic_slice neg)", "mul", "(dynamic_slice exp)"));
}

TEST(FormClusters, ElementsAtComputedIndices) {
  const auto taken = [](std::string_view type, std::string_view sizes, std::string_view from) {
    return fmt::format(
        "{} = gather[offset_dims=() collapsed_slice_dims=(0,) start_index_map=(0,) "
        "operand_batching_dims=() start_indices_batching_dims=() slice_sizes={} fill_value=None "
        "mode=clip unique_indices=False indices_are_sorted=False] {}",
        type, sizes, from);
  };
  EXPECT_THAT(grouping("{ lambda ; x:f32[90] i:i32[60]. let j:i32[60] = add i 1:i32[] k:i32[60,1] "
                       "= reshape[new_sizes=(60, 1)] j " +
                       taken("a:f32[60]", "(1,)", "x k") + " b:f32[60] = neg a in (b,) }"),
              ElementsAre("(add reshape gather neg)"));
  // An array that the cluster would compute, and elements that are not of one line.
  EXPECT_THAT(
      grouping("{ lambda ; x:f32[60] i:i32[60,1]. let y:f32[60] = exp x z:f32[60] = neg y " +
               taken("a:f32[60]", "(1,)", "z i") + " b:f32[60] = add a x in (b,) }"),
      ElementsAre("(exp neg)", "(gather add)"));
  EXPECT_THAT(grouping("{ lambda ; x:i8[60] i:i32[60,1]. let " + taken("a:i8[60]", "(1,)", "x i") +
                       " b:i8[60] = neg a in (b,) }"),
              ElementsAre("gather", "neg"));
}

}  // namespace
}  // namespace farcall::native
