// The StableHLO text of programs.
#include "stablehlo/internal/lower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/core/error.h>
#include <farcall/passes/passes.h>
#include <farcall/program/cpu_devices.h>
#include <farcall/program/text.h>

#include <farcall/stablehlo/stablehlo.h>

#include "program/examples.h"
#include "stablehlo/rules.h"

namespace farcall::stablehlo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string text_of(std::string_view program) { return to_stablehlo(parse_program(program)); }

TEST(Lower, AProgramIsAModuleWithAFunctionMain) {
  EXPECT_EQ(text_of("{ lambda ; a:f32[2,3] b:f32[]. let c:f32[2,3] = mul a b in (c, 2.5:f32[]) }"),
            R"(module @program_ {
  func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) -> (tensor<2x3xf32>, tensor<f32>) {
    %0 = "stablehlo.broadcast_in_dim"(%arg1) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<2x3xf32>
    %1 = "stablehlo.multiply"(%arg0, %0) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %2 = "stablehlo.constant"() {value = dense<2.5> : tensor<f32>} : () -> tensor<f32>
    "func.return"(%1, %2) : (tensor<2x3xf32>, tensor<f32>) -> ()
  }
}
)");
}

struct Row {
  const char* program;
  const char* text;  // a part of the lowered text
};
const Row kRows[] = {
    {"{ lambda ; a:f32[2]. let b:f32[2] = erf a in (b,) }",
     "\"chlo.erf\"(%arg0) : (tensor<2xf32>) -> tensor<2xf32>"},
    {"{ lambda ; a:i32[2] b:i32[2]. let c:bool[2] = lt a b in (c,) }",
     "{comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<2xi32>, "
     "tensor<2xi32>) -> tensor<2xi1>"},
    {"{ lambda ; a:f32[2,3]. let b:f32[3,2] = transpose[permutation=(1, 0)] a in (b,) }",
     "{permutation = array<i64: 1, 0>}"},
    {"{ lambda ; a:bf16[2,3]. let b:bf16[2] = reduce_max[axes=(1,)] a in (b,) }",
     "{value = dense<0xFF80> : tensor<bf16>}"},
    {"{ lambda ; a:u8[2,3]. let b:u8[2] = reduce_min[axes=(1,)] a in (b,) }",
     "{value = dense<255> : tensor<ui8>}"},
    {"{ lambda ; a:c64[4]. let b:c64[4] = fft[fft_lengths=(4,) fft_type=IFFT] a in (b,) }",
     "fft_type = #stablehlo<fft_type IFFT>, fft_length = array<i64: 4>"},
    {"{ lambda ; a:f32[2,3] b:f32[3,4]. let c:f32[2,4] = dot_general[lhs_contracting=(1,) "
     "rhs_contracting=(0,) lhs_batch=() rhs_batch=()] a b in (c,) }",
     "#stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], "
     "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>"},
    {"{ lambda ; a:i32[] b:f32[2]. let c:f32[2] = cond[branches=({ lambda ; a:f32[2]. let in (a,) "
     "}, { lambda ; a:f32[2]. let b:f32[2] = neg a in (b,) })] a b in (c,) }",
     "\"stablehlo.case\""},
    {"{ lambda ; a:f32[2]. let b:f32[2] = jit[name=g jaxpr={ lambda ; a:f32[2]. let b:f32[2] = sin "
     "a in (b,) }] a in (b,) }",
     "\"stablehlo.sine\"(%arg0)"},
    {"{ lambda ; a:f32[2]. let b:f32[2] = ffi_call[attributes={k=2:i32, s=\"x\"} "
     "batched_operands=() custom_call_api_version=4 has_side_effect=True input_layouts=(None,) "
     "input_output_aliases=((0, 0),) legacy_backend_config=None output_layouts=(None,) "
     "result_types=(f32[2],) target_name=scale vmap_method=None] a in (b,) }",
     "call_target_name = \"scale\", api_version = 4 : i32, has_side_effect = true, backend_config "
     "= "
     "{k = 2 : i32, s = \"x\"}, operand_layouts = [dense<[0]> : tensor<1xindex>]"},
};

TEST(Lower, OperationsHaveTheirAttributes) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.program);
    EXPECT_THAT(text_of(row.program), HasSubstr(row.text));
  }
}

TEST(Lower, EveryExampleIsLoweredOrRelayed) {
  size_t num_lowered = 0, num_relayed = 0;
  for (const auto& [inputs, equation] : farcall::testing::example_equations()) {
    SCOPED_TRACE(equation);
    const ProgramPtr program =
        parse_program("{ lambda ; " + inputs + ". let " + equation + " in () }");
    // Collectives run only in shard_map; some other primitives never run.
    const Primitive& primitive = *program->equations[0].primitive;
    if (!program->axis_names.empty() || !primitive.never_run.empty()) continue;
    LowerOptions options;
    bool is_relayed = false;
    options.relay = [&](const Program&, const Equation&, RelayPlace) {
      is_relayed = true;
      return 7;
    };
    const Module module = lower(*choose_platform(inline_calls(program), "cpu"), options);
    EXPECT_EQ(module.takes_run, is_relayed);
    (is_relayed ? num_relayed : num_lowered)++;
  }
  EXPECT_GT(num_lowered, 100);
  EXPECT_LT(num_relayed, 40);
}

TEST(Lower, ARelayTakesTheRunAndHandsItOnAfterEffects) {
  const ProgramPtr program = parse_program(
      "{ lambda ; a:f32[2] b:i4[2]. let c:f32[2] = ndtri a d:f32[2] = ffi_call[attributes={} "
      "batched_operands=() custom_call_api_version=4 has_side_effect=True input_layouts=(None, "
      "None) "
      "input_output_aliases=() legacy_backend_config=None output_layouts=(None,) "
      "result_types=(f32[2],) target_name=f vmap_method=None] c b in (d,) }");
  LowerOptions options;
  options.relay = [](const Program&, const Equation& equation, RelayPlace) {
    return equation.primitive->name == "ndtri" ? 1 : 2;
  };
  const Module module = lower(*program, options);
  EXPECT_TRUE(module.takes_run);
  EXPECT_THAT(module.text, HasSubstr("%arg1: tensor<2xi4>, %run: tensor<ui64>)"));
  EXPECT_THAT(module.text, HasSubstr("\"stablehlo.custom_call\"(%run, %arg0) {call_target_name = "
                                     "\"farcall.relay\", api_version = 4 : i32, has_side_effect = "
                                     "false, backend_config = {id = 1 : i64}, operand_layouts = "));
  EXPECT_THAT(module.text, HasSubstr("(tensor<ui64>, tensor<2xf32>, tensor<2xi8>) -> "
                                     "(tensor<2xf32>, tensor<ui64>)"));
}

// Without layouts, compilers for GPUs give calls transposed operands as they lie.
TEST(Lower, CallsOfFarcallTakeRowMajorOperands) {
  const ProgramPtr program = parse_program(
      "{ lambda ; a:f32[2,3]. let b:f32[3,2] = transpose[permutation=(1, 0)] a c:f32[3,2] = ndtri "
      "b in (c,) }");
  LowerOptions options;
  options.relay = [](const Program&, const Equation&, RelayPlace) { return 1; };
  EXPECT_THAT(lower(*program, options).text,
              HasSubstr("operand_layouts = [dense<> : tensor<0xindex>, dense<[1, 0]> : "
                        "tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]"));
}

std::string text_for(std::string_view program, std::string_view platform, bool has_relays = false) {
  LowerOptions options;
  options.platform = platform;
  if (has_relays) {
    options.relay = [](const Program&, const Equation&, RelayPlace) { return 1; };
  }
  return lower(*parse_program(program), options).text;
}

constexpr const char* kProduct =
    "{ lambda ; a:f32[2,3] b:f32[3,4]. let c:f32[2,4] = dot_general[lhs_contracting=(1,) "
    "rhs_contracting=(0,) lhs_batch=() rhs_batch=()] a b in (c,) }";

TEST(Lower, ProductsOnAnAcceleratorHaveTheDigitsOfTheirOperands) {
  EXPECT_THAT(text_for(kProduct, "cuda"), HasSubstr("precision_config = [#stablehlo<precision "
                                                    "HIGHEST>, #stablehlo<precision HIGHEST>]"));
  EXPECT_THAT(text_for(kProduct, "cpu"), Not(HasSubstr("precision_config")));
  EXPECT_THAT(text_for(kProduct, ""), Not(HasSubstr("precision_config")));
}

TEST(Lower, ProductsHaveThePrecisionThatTheProgramNames) {
  std::string program = kProduct;
  program.insert(program.find("rhs_batch=()") + 12, " precision=(default, high)");
  for (const char* platform : {"cuda", "cpu", ""}) {
    EXPECT_THAT(text_for(program, platform), HasSubstr("precision_config = [#stablehlo<precision "
                                                       "DEFAULT>, #stablehlo<precision HIGH>]"));
  }
}

std::string convolution_of(std::string_view dtype, int kernel) {
  return "{ lambda ; a:" + std::string(dtype) + "[1,2,5] b:" + std::string(dtype) + "[3,2," +
         std::to_string(kernel) + "]. let c:" + std::string(dtype) + "[1,3," +
         std::to_string(6 - kernel) +
         "] = conv_general_dilated[window_strides=(1,) padding=((0, 0),) lhs_dilation=(1,) "
         "rhs_dilation=(1,) lhs_spec=(0, 1, 2) rhs_spec=(0, 1, 2) out_spec=(0, 1, 2) "
         "feature_group_count=1 batch_group_count=1] a b in (c,) }";
}

TEST(Lower, ComplexConvolutionsOnAnAcceleratorAreFourOfTheParts) {
  const std::string complex = convolution_of("c64", 2);
  EXPECT_THAT(text_for(complex, "cpu"), HasSubstr("(tensor<1x2x5xcomplex<f32>>, "));
  const std::string text = text_for(complex, "cuda");
  size_t count = 0, at = 0;
  while ((at = text.find("\"stablehlo.convolution\"", at)) != std::string::npos) ++count, ++at;
  EXPECT_EQ(count, 4u);
  EXPECT_THAT(text, HasSubstr("(tensor<1x3x4xf32>, tensor<1x3x4xf32>) -> "
                              "tensor<1x3x4xcomplex<f32>>"));
}

TEST(Lower, ConvolutionsThatPluginsLackAreRelayed) {
  const std::string integer = convolution_of("i32", 2), empty = convolution_of("f32", 0);
  EXPECT_THAT(text_for(integer, "cuda", true), HasSubstr("farcall.relay"));
  EXPECT_THAT(text_for(integer, "cpu", true), HasSubstr("stablehlo.convolution"));
  EXPECT_THAT(text_for(empty, "cpu", true), HasSubstr("farcall.relay"));
}

TEST(Lower, UnsignedPositionsAreBoundedBeforeTheyAreSigned) {
  EXPECT_THAT(
      text_for("{ lambda ; a:f32[9] b:u64[]. let c:f32[2] = dynamic_slice[slice_sizes=(2,)] "
               "a b in (c,) }",
               "cuda"),
      HasSubstr("\"stablehlo.minimum\"(%arg1, "));
}

// A layout over a 2 x 2 mesh.
MeshLayout layout_over_grid(const Program& program) {
  set_num_cpu_devices(4);
  MeshLayout layout{Mesh{{"x", 2}, {"y", 2}}, {}, {}};
  layout.inputs.assign(program.inputs.size(), {{"x"}});
  layout.outputs.assign(program.outputs.size(), {{}, {"y", "x"}});
  return layout;
}

TEST(Lower, AProgramOverAMeshSaysHowItsArraysLie) {
  const ProgramPtr program = parse_program(
      "{ lambda ; a:f32[4,8]. let b:f32[4,8] = sharding_constraint[mesh=((y, 2),) spec=((y,),)] a "
      "c:f32[4,8] = sharding_constraint[mesh=((y, 3),) spec=()] b in (c,) }");
  const MeshLayout layout = layout_over_grid(*program);
  LowerOptions options;
  options.layout = &layout;
  const std::string text = lower(*program, options).text;
  EXPECT_THAT(text, HasSubstr("attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1"));
  EXPECT_THAT(text, HasSubstr("sdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>"));
  EXPECT_THAT(text, HasSubstr("%arg0: tensor<4x8xf32> {sdy.sharding = "
                              "#sdy.sharding<@mesh, [{\"x\"}, {}]>}) -> (tensor<4x8xf32> "
                              "{sdy.sharding = #sdy.sharding<@mesh, [{}, {\"y\", \"x\"}]>})"));
  EXPECT_THAT(text, HasSubstr("\"sdy.sharding_constraint\"(%arg0) {sharding = "
                              "#sdy.sharding<@mesh, [{\"y\"}, {}]>}"));
  EXPECT_THAT(text, HasSubstr("\"func.return\"(%0)"));  // axes of another mesh are ignored
}

TEST(Lower, ShardMapIsAComputationOfEachDevice) {
  const std::string map =
      "shard_map[devices=() in_specs=(((x,),),) jaxpr={ lambda ; a:f32[2,8]. let b:f32[2,8] = "
      "psum[axes=(x,)] a c:f32[2,8] = ppermute[axis_name=x perm=((0, 1),)] b in (c,) } "
      "mesh=((x, 2),) out_specs=(((x,),),)] a";
  const ProgramPtr program =
      parse_program("{ lambda ; a:f32[4,8]. let b:f32[4,8] = " + map + " in (b,) }");
  const MeshLayout layout = layout_over_grid(*program);
  LowerOptions options;
  options.layout = &layout;
  const std::string text = lower(*program, options).text;
  EXPECT_THAT(text, HasSubstr("in_shardings = #sdy.sharding_per_value<[<@mesh, [{\"x\"}, {}]>]>, "
                              "out_shardings = #sdy.sharding_per_value<[<@mesh, [{\"x\"}, {}]>]>, "
                              "manual_axes = #sdy<manual_axes{\"x\", \"y\"}>"));
  // Positions are row-major: neighbours along x are two apart.
  EXPECT_THAT(text, HasSubstr("replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>"));
  EXPECT_THAT(text, HasSubstr("source_target_pairs = dense<[[0, 2], [1, 3]]>"));
  // On one device there is no peer, and no relay for the whole program.
  EXPECT_THROW(lower(*program, {}), Error);
}

TEST(Lower, RelaysOfAProgramOverAMeshStandInAComputationOfAllDevices) {
  const ProgramPtr program =
      parse_program("{ lambda ; a:f32[4,8]. let b:f32[4,8] = ndtri a in (b,) }");
  const MeshLayout layout = layout_over_grid(*program);
  LowerOptions options;
  options.layout = &layout;
  std::vector<RelayPlace> places;
  options.relay = [&](const Program&, const Equation&, RelayPlace place) {
    places.push_back(place);
    return 7;
  };
  const std::string text = lower(*program, options).text;
  EXPECT_EQ(places, std::vector{RelayPlace::kOnAll});
  EXPECT_THAT(text, HasSubstr("\"sdy.manual_computation\"(%arg0, %run)"));
  EXPECT_THAT(text, HasSubstr("in_shardings = #sdy.sharding_per_value<[<@mesh, [{}, {}]>, <@mesh, "
                              "[]>]>"));
}

TEST(Lower, LargeConstantsBecomeArguments) {
  const ProgramPtr program =
      parse_program("{ lambda a:f32[3]=[1.0 2.0 nan] ; b:f32[3]. let c:f32[3] = add a b in (c,) }");
  LowerOptions options;
  EXPECT_THAT(lower(*program, options).text, HasSubstr("dense<[1.0, 2.0, 0x7FC00000]>"));
  options.max_inline_bytes = 8;
  const Module module = lower(*program, options);
  ASSERT_EQ(module.constants.size(), 1);
  EXPECT_THAT(module.text, HasSubstr("%arg0: tensor<3xf32>, %constant0: tensor<3xf32>)"));
  EXPECT_THAT(module.text, Not(HasSubstr("dense")));
}

TEST(Lower, WhatHasNoOperationSaysSo) {
  const auto error_of = [](std::string_view program) {
    try {
      text_of(program);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnimplemented);
      return error.message();
    }
    return std::string("no error");
  };
  EXPECT_EQ(
      error_of("{ lambda ; a:f32[2]. let b:f32[2] = ndtri a in (b,) }"),
      "ndtri: StableHLO cannot express this operation with these types and parameters; use the "
      "native engine");
  EXPECT_EQ(error_of("{ lambda ; a:i1[2]. let in (a,) }"),
            "StableHLO has no dtype int1; use the native engine");
}

}  // namespace
}  // namespace farcall::stablehlo
