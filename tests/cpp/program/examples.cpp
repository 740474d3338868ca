#include "examples.h"

#include <string_view>

namespace farcall::testing {
namespace {

// Every primitive needs an example here, except elementwise ones without parameters, whose examples
// follow from their list.
const ExampleEquation kExamples[] = {
    {"a:f32[2,3]", "_:i4[2,3] = convert_element_type[new_dtype=i4 weak_type=False] a"},
    {"a:i32[2]", "_:i32[2]* = convert_element_type[new_dtype=i32 weak_type=True] a"},
    {"a:f32[2,3]", "_:u32[2,3] = bitcast_convert_type[new_dtype=u32] a"},
    {"a:f32[2,3]", "_:f32[2,3] = reduce_precision[exponent_bits=5 mantissa_bits=10] a"},
    {"a:f32[2,3]", "_:f32[2,3] = integer_pow[y=-3] a"},
    {"a:f32[2,3]", "_:f32[2,3] = round[rounding_method=1] a"},
    {"a:f32[2,3]",
     "_:f32[4,2,3] = broadcast_in_dim[shape=(4, 2, 3) broadcast_dimensions=(1, 2)] a"},
    {"a:f32[]", "_:f32[] = broadcast_in_dim[shape=() broadcast_dimensions=()] a"},
    {"a:f32[2,3]", "_:f32[6] = reshape[new_sizes=(6,)] a"},
    {"a:f64[0,3]", "_:f64[7,0] = reshape[new_sizes=(7, 0)] a"},
    {"a:f32[2,3]", "_:f32[3,2] = transpose[permutation=(1, 0)] a"},
    {"a:f32[2,3]",
     "_:f32[2,1] = slice[start_indices=(0, 1) limit_indices=(2, 3) strides=(1, 2)] a"},
    {"a:f32[2,3]", "_:f32[2,9] = concatenate[dimension=1] a a a"},
    {"a:f32[2,3]", "_:f32[2,3] = rev[dimensions=(0, 1)] a"},
    {"a:f32[2,3]", "_:f32[2,3] = rev[dimensions=()] a"},
    {"", "_:bf16[2,0] = iota[dtype=bf16 shape=(2, 0) dimension=1]"},
    {"a:f32[2]", "_:f32[2] = copy a"},
    {"a:u32[3,2]", "_:key<fry>[3] = random_wrap[impl=fry] a"},
    {"a:key<fry>[3]", "_:u32[3,2] = random_unwrap a"},
    {"a:f32[2]", "_:f32[2] = stop_gradient a"},
    {"a:f32[2]", "_:f32[2] _:f32[2] = optimization_barrier a a"},
    {"a:f32[2,4]", "_:f32[2,4] = sharding_constraint[mesh=((x, 2),) spec=((), (x,))] a"},
    {"a:f32[2,3]", "_:f32[] = reduce_sum[axes=(0, 1)] a"},
    {"a:f32[2,3]", "_:f32[2,3] = reduce_prod[axes=()] a"},
    {"a:f32[2,3]", "_:f32[2] = reduce_max[axes=(1,)] a"},
    {"a:f32[2,3]", "_:f32[3] = reduce_min[axes=(0,)] a"},
    {"a:bool[2,3]", "_:bool[2] = reduce_and[axes=(1,)] a"},
    {"a:i32[2,3]", "_:i32[2] = reduce_or[axes=(1,)] a"},
    {"a:f32[2,3]", "_:f32[2,2] _:i32[2,2] = top_k[k=2 axis=1] a"},
    {"a:f32[2,3]", "_:i64[2] = argmax[axis=1 index_dtype=i64] a"},
    {"a:f32[2,3]", "_:u8[3] = argmin[axis=0 index_dtype=u8] a"},
    {"a:f32[3]", "_:f32[3] = cumsum[axis=0 reverse=True] a"},
    {"a:f32[3]", "_:f32[3] = cumprod[axis=0 reverse=False] a"},
    {"a:f32[3]", "_:f32[3] = cummax[axis=0 reverse=False] a"},
    {"a:f32[3]", "_:f32[3] = cummin[axis=0 reverse=False] a"},
    {"a:f32[3]", "_:f32[3] = cumlogsumexp[axis=0 reverse=False] a"},
    {"a:f32[3] b:i32[3]", "_:f32[3] _:i32[3] = sort[dimension=0 is_stable=True num_keys=1] a b"},
    {"a:f32[2,3]",
     "_:f32[2,3,3] = dot_general[lhs_contracting=() rhs_contracting=() lhs_batch=(0,) "
     "rhs_batch=(0,)] a a"},
    {"a:f32[2,3]",
     "_:f32[2,2] = dot_general[lhs_contracting=(1,) rhs_contracting=(1,) lhs_batch=() "
     "rhs_batch=() precision=(high, highest)] a a"},
    {"a:bool[2] b:f32[2] c:f32[]", "_:f32[2] = select_n a b c"},
    {"a:i32[2] b:f32[2]", "_:f32[2] = select_n a b b b"},
    {"a:f32[]* b:f32[2] c:f32[]", "_:f32[2] = clamp a b c"},
    {"a:f32[2] b:f32[2] c:f32[2]", "_:f32[2] = regularized_incomplete_beta a b c"},
    {"", "_:token[] = create_token"},
    {"a:f32[2]",
     "_:f32[2] = ffi_call[attributes={d={e=[1,2]:u4, lambda=\"x\\\"\\n\"}} "
     "batched_operands=((0,),) custom_call_api_version=4 "
     "has_side_effect=True input_layouts=((0,),) input_output_aliases=((0, 0),) "
     "legacy_backend_config=None output_layouts=(None,) result_types=(f32[2],) target_name=\"a-b\" "
     "vmap_method=broadcast_all] a"},
    {"a:f32[2,3] b:f32[]", "_:f32[3,6] = pad[padding_config=((1, 0, 0), (0, 1, 1))] a b"},
    {"a:f32[2,3] b:i32[]", "_:f32[1,3] = dynamic_slice[slice_sizes=(1, 3)] a b b"},
    {"a:f32[2,3] b:f32[1,3] c:i32[]", "_:f32[2,3] = dynamic_update_slice a b c c"},
    {"a:f32[5,3] b:i32[4,1]",
     "_:f32[4,3] = gather[offset_dims=(1,) collapsed_slice_dims=(0,) start_index_map=(0,) "
     "operand_batching_dims=() start_indices_batching_dims=() slice_sizes=(1, 3) fill_value=None "
     "mode=clip unique_indices=False indices_are_sorted=True] a b"},
    {"", "_:i32[] = platform_index[platforms=((cpu,), (cuda, rocm)) has_default=True]"},
    {"a:c64[4]", "_:c64[4] = fft[fft_lengths=(4,) fft_type=FFT] a"},
    {"a:f32[1,2,5] b:f32[3,2,3]",
     "_:f32[1,3,3] = conv_general_dilated[batch_group_count=1 feature_group_count=1 "
     "lhs_dilation=(1,) lhs_spec=(0, 1, 2) out_spec=(0, 1, 2) padding=((0, 0),) rhs_dilation=(1,) "
     "rhs_spec=(0, 1, 2) window_strides=(1,)] a b"},
    {"a:f32[1,2,5] b:f32[3,2,3]",
     "_:f32[1,3,3] = conv_general_dilated[batch_group_count=1 feature_group_count=1 "
     "lhs_dilation=(1,) lhs_spec=(0, 1, 2) out_spec=(0, 1, 2) padding=((0, 0),) rhs_dilation=(1,) "
     "rhs_spec=(0, 1, 2) window_strides=(1,) precision=(default, high)] a b"},
    {"a:f32[5] b:f32[5]",
     "_:f32[4] = select_and_gather_add[base_dilation=(1,) padding=((0, 0),) select_prim=ge "
     "window_dilation=(1,) window_dimensions=(2,) window_strides=(1,)] a b"},
    {"a:f32[2] b:f32[4]",
     "_:f32[4] = select_and_scatter_add[base_dilation=(1,) padding=((0, 0),) select_prim=ge "
     "window_dilation=(1,) window_dimensions=(2,) window_strides=(2,)] a b"},
    {"a:f32[2]", "_:f32[2] = psum[axes=(i, \"a b\")] a"},
    {"a:f32[2]", "_:f32[2] = psum_invariant[axes=(i,)] a"},
    {"a:f32[2]", "_:f32[2] = pvary[axes=(i, j)] a"},
    {"a:f32[2]", "_:f32[2] = pmax[axes=(i,)] a"},
    {"a:f32[2]", "_:f32[2] = pmin[axes=(i,)] a"},
    {"a:f32[2]", "_:f32[5,2] = all_gather[all_gather_dimension=0 axis_name=i axis_size=5] a"},
    {"a:f32[2,3]", "_:f32[2,3] = all_to_all[axis_name=i concat_axis=0 split_axis=0] a"},
    {"a:f32[2]", "_:f32[2] = ppermute[axis_name=i perm=((0, 1), (1, 0))] a"},
    {"", "_:i32[] = axis_index[axis_name=i]"},
    {"a:f32[8] b:f32[2]",
     "_:f32[2] _:f32[2,4] = shard_map[devices=() in_specs=(((x,),), ()) jaxpr={ lambda ; "
     "a:f32[2] b:f32[2]. "
     "let c:f32[2] = psum[axes=(x,)] a d:f32[2,1] = reshape[new_sizes=(2, 1)] b in (c, d) } "
     "mesh=((x, 4),) out_specs=((), ((), (x,)))] a b"},
    {"a:f32[2]",
     "_:f32[2] = jit[name=\"<lambda>\" jaxpr={ lambda a:f32[2]=[-0.0 nan] ; b:f32[2]. let c:f32[2] "
     "= "
     "add a b in (c,) }] a"},
    {"a:f32[2,3] b:f32[3]",
     "_:f32[2,3] _:f32[2] = cluster[jaxpr={ lambda ; a:f32[2,3] b:f32[3]. let c:f32[2,3] = "
     "broadcast_in_dim[shape=(2, 3) broadcast_dimensions=(1,)] b d:f32[2,3] = mul a c e:f32[2] = "
     "reduce_sum[axes=(1,)] d in (d, e) }] a b"},
    {"a:f32[2]",
     "_:f32[2] = checkpoint[jaxpr={ lambda ; a:f32[2]. let in (a,) } prevent_cse=True "
     "policy=save_only_these_names names=(a, b)] a"},
    {"a:f32[2]", "_:f32[2] = name[name=h] a"},
    {"a:f32[2]",
     "_:f32[2] = custom_partitioning[name=f jaxpr={ lambda ; a:f32[2]. let in (a,) } num_consts=0] "
     "a"},
    {"a:f32[2]",
     "_:f32[2] = custom_jvp_call[name=f call_jaxpr={ lambda ; a:f32[2]. let in (a,) } "
     "num_consts=0] "
     "a"},
    {"a:f32[2]",
     "_:f32[2] = custom_vjp_call[name=f call_jaxpr={ lambda ; a:f32[2]. let in (a,) } "
     "num_consts=0] "
     "a"},
    {"a:f32[2]",
     "_:f32[2] = custom_vmap_call[name=f call_jaxpr={ lambda ; a:f32[2]. let in (a,) } "
     "num_consts=0] a"},
    {"a:f32[] b:f32[2]",
     "_:f32[2] = linear_call[callee={ lambda ; a:f32[] b:f32[2]. let c:f32[2] = mul a b in (c,) } "
     "transpose={ lambda ; a:f32[] b:f32[2]. let c:f32[2] = mul a b in (c,) } num_consts=1] a b"},
    {"a:f32[] b:f32[2]",
     "_:f32[2] _:f32[] = custom_linear_solve[matvec={ lambda ; a:f32[] b:f32[2]. let c:f32[2] = "
     "mul "
     "a b in (c,) } solve={ lambda ; a:f32[] b:f32[2]. let c:f32[2] = div b a in (c, a) } "
     "transposed=() num_consts=1] a b"},
    {"a:f32[2]",
     "_:f32[2] = custom_lin[bwd=f num_residuals=0 varies=(1,) "
     "output_types=(f32[2],)] a"},
    {"a:f32[2] b:f32[3]",
     "_:f32[2] _:f32[3] = scan[jaxpr={ lambda ; a:f32[2] b:f32[]. let c:f32[2] = mul a b in (c, "
     "2.0:f32[]) } length=3 num_carry=1 num_consts=0 reverse=True unroll=1] a b"},
    {"a:f32[] b:f32[]",
     "_:f32[] = while[body_jaxpr={ lambda ; a:f32[]. let b:f32[] = add a 1.0:f32[] in (b,) } "
     "body_nconsts=0 "
     "cond_jaxpr={ lambda ; a:f32[] b:f32[]. let c:bool[] = lt b a in (c,) } cond_nconsts=1] a b"},
    {"a:i32[] b:f32[2]",
     "_:f32[2] = cond[branches=({ lambda ; a:f32[2]. let in (a,) }, { lambda ; a:f32[2]. let "
     "b:f32[2] "
     "= jit[name=g jaxpr={ lambda ; a:f32[2]. let b:f32[2] = ffi_call[attributes={} "
     "batched_operands=() custom_call_api_version=4 has_side_effect=False input_layouts=(None,) "
     "input_output_aliases=() "
     "legacy_backend_config=None output_layouts=(None,) result_types=(f32[2],) target_name=f "
     "vmap_method=None] a in (b,) }] a in (b,) })] a b"},
};

// The kinds of operands that elementwise primitives accept.
enum Kind { B = 1, S = 2, U = 4, F = 8, C = 16, K = 32 };
std::string operand_type(int kinds) {
  return kinds & F ? "f32[2]" : kinds & S ? "i32[2]" : kinds & C ? "c64[2]" : "bool[2]";
}
std::string result_type(std::string_view result, const std::string& operand) {
  if (result == "kBool") return "bool[2]";
  if (result == "kReal" && operand == "c64[2]") return "f32[2]";
  return result == "kComplex" ? "c64[2]" : operand;
}

}  // namespace

std::vector<ExampleEquation> example_equations() {
  std::vector<ExampleEquation> all(std::begin(kExamples), std::end(kExamples));
  for (const std::string name :
       {"reduce_window_sum", "reduce_window_prod", "reduce_window_max", "reduce_window_min"}) {
    all.push_back({"a:f32[5]", "_:f32[4] = " + name +
                                   "[base_dilation=(1,) padding=((0, 0),) window_dilation=(1,) "
                                   "window_dimensions=(2,) window_strides=(1,)] a"});
  }
  for (const std::string name :
       {"scatter", "scatter_add", "scatter_mul", "scatter_min", "scatter_max"}) {
    all.push_back({"a:f32[5,3] b:i32[4,1] c:f32[4,3]",
                   "_:f32[5,3] = " + name +
                       "[update_window_dims=(1,) inserted_window_dims=(0,) "
                       "scatter_dims_to_operand_dims=(0,) operand_batching_dims=() "
                       "scatter_indices_batching_dims=() indices_are_sorted=False "
                       "unique_indices=False mode=fill_or_drop] a b c"});
  }
  const auto add = [&](int kinds, std::string_view result, const std::string& equation) {
    const std::string type = operand_type(kinds);
    all.push_back({"a:" + type, "_:" + result_type(result, type) + " = " + equation});
  };
#define FARCALL_UNARY(function, name, kinds, result, ...) add(kinds, #result, name " a");
#define FARCALL_BINARY(function, name, kinds, result, ...) add(kinds, #result, name " a a");
#include <farcall/ops/elementwise_list.h>
  return all;
}

}  // namespace farcall::testing
