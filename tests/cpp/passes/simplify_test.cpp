// Operations without effect are removed, and no others. Inputs contain signed zeros, infinities and
// NaNs of both kinds, and results are compared bitwise.
#include "passes.h"

namespace farcall {
namespace {

using testing::expect_after;
using testing::expect_same;

// A program of these equations on a:f32[6], b:i32[6], p:f32[2,3] and r:f32[]; its result is a copy
// of `last`.
std::string program(const std::string& equations, const std::string& type = "f32[6]",
                    const std::string& last = "e") {
  return "{ lambda ; a:f32[6] b:i32[6] p:f32[2,3] r:f32[]. let " + equations + " z:" + type +
         " = copy " + last + " in (z,) }";
}

struct Row {
  std::string name, before, after, last;  // `last`: the variable that replaces e
  std::string type = "f32[6]";
};

class Simplify : public ::testing::TestWithParam<Row> {};

TEST_P(Simplify, GivesTheSameBits) {
  const Row& row = GetParam();
  expect_after(program(row.before, row.type), simplify, program(row.after, row.type, row.last));
}

INSTANTIATE_TEST_SUITE_P(
    Rules, Simplify,
    ::testing::Values(
        Row{"convert", "e:f32[6] = convert_element_type[new_dtype=f32 weak_type=False] a", "", "a"},
        Row{"reshape", "e:f32[6] = reshape[new_sizes=(6,)] a", "", "a"},
        Row{"reshapes",
            "c:f32[3,2] = reshape[new_sizes=(3, 2)] p e:f32[6] = reshape[new_sizes=(6,)] c",
            "c:f32[3,2] = reshape[new_sizes=(3, 2)] p e:f32[6] = reshape[new_sizes=(6,)] p", "e"},
        Row{"reshaped_back",
            "c:f32[6] = reshape[new_sizes=(6,)] p e:f32[2,3] = reshape[new_sizes=(2, 3)] c",
            "c:f32[6] = reshape[new_sizes=(6,)] p e:f32[2,3] = reshape[new_sizes=(2, 3)] p", "e",
            "f32[2,3]"},
        Row{"transpose", "e:f32[2,3] = transpose[permutation=(0, 1)] p", "", "p", "f32[2,3]"},
        Row{"transposed_back",
            "c:f32[3,2] = transpose[permutation=(1, 0)] p e:f32[2,3] = transpose[permutation=(1, "
            "0)] c",
            "c:f32[3,2] = transpose[permutation=(1, 0)] p", "p", "f32[2,3]"},
        Row{"transposes",
            "c:f32[1,2,3] = reshape[new_sizes=(1, 2, 3)] p d:f32[3,1,2] = "
            "transpose[permutation=(2, "
            "0, 1)] c e:f32[1,3,2] = transpose[permutation=(1, 0, 2)] d",
            "c:f32[1,2,3] = reshape[new_sizes=(1, 2, 3)] p d:f32[3,1,2] = "
            "transpose[permutation=(2, "
            "0, 1)] c e:f32[1,3,2] = transpose[permutation=(0, 2, 1)] c",
            "e", "f32[1,3,2]"},
        Row{"broadcast", "e:f32[6] = broadcast_in_dim[shape=(6,) broadcast_dimensions=(0,)] a", "",
            "a"},
        Row{"broadcasts",
            "c:f32[1,6] = broadcast_in_dim[shape=(1, 6) broadcast_dimensions=(1,)] a e:f32[4,5,6] "
            "= broadcast_in_dim[shape=(4, 5, 6) broadcast_dimensions=(1, 2)] c",
            "c:f32[1,6] = broadcast_in_dim[shape=(1, 6) broadcast_dimensions=(1,)] a e:f32[4,5,6] "
            "= broadcast_in_dim[shape=(4, 5, 6) broadcast_dimensions=(2,)] a",
            "e", "f32[4,5,6]"},
        Row{"neg", "c:f32[6] = neg a e:f32[6] = neg c", "c:f32[6] = neg a", "a"},
        Row{"not", "c:i32[6] = not b e:i32[6] = not c", "c:i32[6] = not b", "b", "i32[6]"},
        Row{"select_false", "c:f32[6] = neg a e:f32[6] = select_n False:bool[] a c",
            "c:f32[6] = neg a", "a"},
        Row{"select_true", "c:f32[6] = neg a e:f32[6] = select_n True:bool[] a c",
            "c:f32[6] = neg a", "c"},
        Row{"select_clamped", "c:f32[6] = neg a e:f32[6] = select_n 7:i32[] a a c",
            "c:f32[6] = neg a", "c"},
        Row{"select_same", "c:bool[6] = lt a r e:f32[6] = select_n c a a", "c:bool[6] = lt a r",
            "a"},
        Row{"select_scalar_stays", "e:f32[6] = select_n True:bool[] a r",
            "e:f32[6] = select_n True:bool[] a r", "e"},
        Row{"times_one", "c:f32[6] = add a r e:f32[6] = mul c 1.0:f32[]", "c:f32[6] = add a r",
            "c"},
        Row{"one_times", "c:f32[6] = add a r e:f32[6] = mul 1.0:f32[] c", "c:f32[6] = add a r",
            "c"},
        Row{"times_ones",
            "c:f32[6] = add a r d:f32[6] = broadcast_in_dim[shape=(6,) broadcast_dimensions=()] "
            "1.0:f32[] e:f32[6] = mul c d",
            "c:f32[6] = add a r d:f32[6] = broadcast_in_dim[shape=(6,) broadcast_dimensions=()] "
            "1.0:f32[]",
            "c"},
        // A signaling NaN would not become quiet.
        Row{"times_one_of_an_input_stays", "e:f32[6] = mul a 1.0:f32[]",
            "e:f32[6] = mul a 1.0:f32[]", "e"},
        Row{"scalar_times_ones_stays",
            "c:f32[6] = broadcast_in_dim[shape=(6,) broadcast_dimensions=()] 1.0:f32[] e:f32[6] = "
            "mul r c",
            "c:f32[6] = broadcast_in_dim[shape=(6,) broadcast_dimensions=()] 1.0:f32[] e:f32[6] = "
            "mul r c",
            "e"},
        Row{"plus_minus_zero", "c:f32[6] = add a r e:f32[6] = add c -0.0:f32[]",
            "c:f32[6] = add a r", "c"},
        // -0.0 would become 0.0.
        Row{"plus_zero_stays", "c:f32[6] = mul a r e:f32[6] = add c 0.0:f32[]",
            "c:f32[6] = mul a r e:f32[6] = add c 0.0:f32[]", "e"},
        Row{"minus_zero", "c:f32[6] = mul a r e:f32[6] = sub c 0.0:f32[]", "c:f32[6] = mul a r",
            "c"},
        Row{"minus_minus_zero_stays", "c:f32[6] = mul a r e:f32[6] = sub c -0.0:f32[]",
            "c:f32[6] = mul a r e:f32[6] = sub c -0.0:f32[]", "e"},
        Row{"zero_minus_stays", "c:f32[6] = mul a r e:f32[6] = sub 0.0:f32[] c",
            "c:f32[6] = mul a r e:f32[6] = sub 0.0:f32[] c", "e"},
        Row{"by_one", "c:f32[6] = mul a r e:f32[6] = div c 1.0:f32[]", "c:f32[6] = mul a r", "c"},
        Row{"integers",
            "c:i32[6] = add b 0:i32[] d:i32[6] = mul 1:i32[] c e:i32[6] = sub d 0:i32[]", "", "b",
            "i32[6]"},
        Row{"integer_pow", "c:f32[6] = mul a r e:f32[6] = integer_pow[y=1] c", "c:f32[6] = mul a r",
            "c"},
        Row{"pad", "e:f32[6] = pad[padding_config=((0, 0, 0),)] a 1.0:f32[]", "", "a"},
        Row{"pad_stays", "e:f32[6] = pad[padding_config=((1, -1, 0),)] a 1.0:f32[]",
            "e:f32[6] = pad[padding_config=((1, -1, 0),)] a 1.0:f32[]", "e"},
        Row{"slices",
            "c:f32[5] = slice[start_indices=(1,) limit_indices=(6,) strides=(1,)] a e:f32[2] = "
            "slice[start_indices=(0,) limit_indices=(4,) strides=(3,)] c",
            "c:f32[5] = slice[start_indices=(1,) limit_indices=(6,) strides=(1,)] a e:f32[2] = "
            "slice[start_indices=(1,) limit_indices=(5,) strides=(3,)] a",
            "e", "f32[2]"},
        Row{"slices_with_steps",
            "c:f32[3] = slice[start_indices=(1,) limit_indices=(6,) strides=(2,)] a e:f32[2] = "
            "slice[start_indices=(1,) limit_indices=(3,) strides=(1,)] c",
            "c:f32[3] = slice[start_indices=(1,) limit_indices=(6,) strides=(2,)] a e:f32[2] = "
            "slice[start_indices=(3,) limit_indices=(6,) strides=(2,)] a",
            "e", "f32[2]"},
        Row{"slice_of_one_joined",
            "d:f32[1,3] = slice[start_indices=(1, 0) limit_indices=(2, 3) strides=(1, 1)] p "
            "c:f32[3,3] = concatenate[dimension=0] p d e:f32[2,3] = slice[start_indices=(0, 0) "
            "limit_indices=(2, 3) strides=(1, 1)] c",
            "d:f32[1,3] = slice[start_indices=(1, 0) limit_indices=(2, 3) strides=(1, 1)] p "
            "c:f32[3,3] = concatenate[dimension=0] p d",
            "p", "f32[2,3]"},
        Row{"slice_in_one_joined",
            "c:f32[12] = concatenate[dimension=0] a a e:f32[2] = slice[start_indices=(7,) "
            "limit_indices=(11,) strides=(3,)] c",
            "c:f32[12] = concatenate[dimension=0] a a e:f32[2] = slice[start_indices=(1,) "
            "limit_indices=(5,) strides=(3,)] a",
            "e", "f32[2]"},
        Row{"slice_of_padded",
            "c:f32[9] = pad[padding_config=((2, 1, 0),)] a r e:f32[4] = slice[start_indices=(3,) "
            "limit_indices=(7,) strides=(1,)] c",
            "c:f32[9] = pad[padding_config=((2, 1, 0),)] a r e:f32[4] = slice[start_indices=(1,) "
            "limit_indices=(5,) strides=(1,)] a",
            "e", "f32[4]"},
        Row{"what_was_padded",
            "c:f32[9] = pad[padding_config=((2, 1, 0),)] a r e:f32[6] = slice[start_indices=(2,) "
            "limit_indices=(8,) strides=(1,)] c",
            "c:f32[9] = pad[padding_config=((2, 1, 0),)] a r", "a"},
        Row{"negative_pad", "e:f32[3] = pad[padding_config=((-1, -2, 0),)] a r",
            "e:f32[3] = slice[start_indices=(1,) limit_indices=(4,) strides=(1,)] a", "e",
            "f32[3]"},
        Row{"slice", "e:f32[6] = slice[start_indices=(0,) limit_indices=(6,) strides=(1,)] a", "",
            "a"},
        Row{"rev", "c:f32[1,6] = reshape[new_sizes=(1, 6)] a e:f32[1,6] = rev[dimensions=(0,)] c",
            "c:f32[1,6] = reshape[new_sizes=(1, 6)] a", "c", "f32[1,6]"},
        Row{"rev_stays", "e:f32[6] = rev[dimensions=(0,)] a", "e:f32[6] = rev[dimensions=(0,)] a",
            "e"},
        Row{"concatenate", "e:f32[6] = concatenate[dimension=0] a", "", "a"},
        Row{"name", "c:f32[6] = name[name=h] a e:f32[6] = stop_gradient c", "", "a"}),
    [](const auto& each) { return each.param.name; });

TEST(SimplifyResults, OfTheProgramKeepMemoryOfTheirOwn) {
  expect_same("{ lambda ; a:f32[2]. let b:f32[2] = reshape[new_sizes=(2,)] a in (b,) }", simplify);
  expect_same(
      "{ lambda ; a:f32[2] b:f32[]. let c:f32[2] = add a b d:f32[2] = mul c 1.0:f32[] in (c, d) }",
      simplify);
  expect_after(
      "{ lambda ; a:f32[2] b:f32[]. let c:f32[2] = add a b d:f32[2] = mul c 1.0:f32[] in (d,) }",
      simplify, "{ lambda ; a:f32[2] b:f32[]. let c:f32[2] = add a b in (c,) }");
}

TEST(SimplifyLoops, InsideToo) {
  expect_after(
      "{ lambda ; a:f32[2]. let b:f32[2] = scan[jaxpr={ lambda ; a:f32[2]. let b:f32[2] = neg a "
      "c:f32[2] = stop_gradient b in (c,) } length=3 num_carry=1 num_consts=0 reverse=False "
      "unroll=1] a in (b,) }",
      simplify,
      "{ lambda ; a:f32[2]. let b:f32[2] = scan[jaxpr={ lambda ; a:f32[2]. let b:f32[2] = neg a in "
      "(b,) } length=3 num_carry=1 num_consts=0 reverse=False unroll=1] a in (b,) }");
}

}  // namespace
}  // namespace farcall
