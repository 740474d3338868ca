// Gathers and scatters at many places work on the leading dimensions as one.
#include <gtest/gtest.h>

#include <farcall/passes/passes.h>
#include <farcall/program/text.h>

#include "calls.h"
#include "engine/native/flatten_indices.h"

namespace farcall::native {
namespace {

std::string flat(const std::string& text) {
  return to_text(*remove_dead_code(flatten_indices(parse_program(text))));
}
// The program as as_printed.
std::string as_printed(const std::string& text) { return to_text(*parse_program(text)); }

struct Taken {
  std::string components = "j:i32[3000,1] k:i32[3000,1]";
  std::string indices = "i:i32[3000,2] = concatenate[dimension=1] j k";
  std::string map = "(0, 1)";
  std::string mode = "clip";
  std::string result = "f32[3000]";
  std::string operand = "f32[50,40]", sizes = "(1, 1)", collapsed = "(0, 1)", offsets = "()";

  std::string text() const {
    return "{ lambda ; x:" + operand + " " + components + ". let " + indices + " y:" + result +
           " = gather[offset_dims=" + offsets + " collapsed_slice_dims=" + collapsed +
           " start_index_map=" + map + " operand_batching_dims=() start_indices_batching_dims=() " +
           "slice_sizes=" + sizes + " fill_value=None mode=" + mode +
           " unique_indices=False indices_are_sorted=False] x i in (y,) }";
  }
};

TEST(FlattenIndices, OfElements) {
  EXPECT_EQ(
      flat(Taken{}.text()),
      as_printed(
          "{ lambda ; x:f32[50,40] j:i32[3000,1] k:i32[3000,1]. let "
          "f:f32[2000] = reshape[new_sizes=(2000,)] x "
          "a:i32[3000] = reshape[new_sizes=(3000,)] j b:i32[3000] = clamp 0:i32[] a 49:i32[] "
          "c:i32[3000] = reshape[new_sizes=(3000,)] k d:i32[3000] = clamp 0:i32[] c 39:i32[] "
          "g:i32[3000] = mul b 40:i32[] h:i32[3000] = add g d "
          "i:i32[3000,1] = reshape[new_sizes=(3000, 1)] h "
          "y:f32[3000] = gather[offset_dims=() collapsed_slice_dims=(0,) start_index_map=(0,) "
          "operand_batching_dims=() start_indices_batching_dims=() slice_sizes=(1,) "
          "fill_value=None mode=clip unique_indices=False indices_are_sorted=False] f i "
          "in (y,) }"));
}

TEST(FlattenIndices, NotOfOthers) {
  const std::string texts[] = {
      // Few places.
      Taken{.components = "j:i32[30,1] k:i32[30,1]",
            .indices = "i:i32[30,2] = concatenate[dimension=1] j k",
            .result = "f32[30]"}
          .text(),
      // The indices are not concatenated here.
      Taken{.components = "i:i32[3000,2]", .indices = ""}.text(),
      // An operand has several components.
      Taken{.components = "j:i32[3000,2] k:i32[3000,1]",
            .indices = "i:i32[3000,3] = concatenate[dimension=1] j k",
            .map = "(0, 1, 2)",
            .operand = "f32[5,4,3]",
            .sizes = "(1, 1, 1)",
            .collapsed = "(0, 1, 2)"}
          .text(),
      // Not the leading dimensions.
      Taken{.map = "(0, 2)",
            .result = "f32[3000,40]",
            .operand = "f32[50,40,30]",
            .sizes = "(1, 40, 1)",
            .collapsed = "(0, 2)",
            .offsets = "(1,)"}
          .text(),
      // A part of each row.
      Taken{.result = "f32[3000,20]",
            .operand = "f32[50,40,30]",
            .sizes = "(1, 1, 20)",
            .offsets = "(1,)"}
          .text(),
      // Small integers do not hold the numbers of the elements.
      Taken{.components = "j:i16[3000,1] k:i16[3000,1]",
            .indices = "i:i16[3000,2] = concatenate[dimension=1] j k"}
          .text(),
      Taken{.operand = "f32[50000,50000]"}.text(),
  };
  for (const std::string& text : texts) EXPECT_EQ(flat(text), as_printed(text));
}

}  // namespace
}  // namespace farcall::native
