// Definitions of targets from C++: attribute types, scratch memory, sharding, linearity.
#include <farcall/ops/define.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/ffi/registry.h>
#include <farcall/ops/checks.h>
#include <farcall/ops/ffi_call.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/record.h>

#include "arrays.h"

namespace farcall {
namespace {

using testing::error_of;
using testing::kVector;
using testing::values;

// What a test's handler received in its last call.
struct Seen {
  int calls = 0;
  std::string attribute;  // its dtype and first byte
};

// Registers a handler with result 0 = 2 * argument 0 (floats) under a new name.
std::string add_target(Seen& seen) {
  static int count = 0;
  std::string name = "define_test_" + std::to_string(++count);
  register_ffi_target(name, [&seen](FARCALL_FFI_CallFrame* frame) -> FARCALL_FFI_Error* {
    ++seen.calls;
    if (frame->attrs.size > 0 && frame->attrs.types[0] == FARCALL_FFI_AttrType_SCALAR) {
      const auto* scalar = static_cast<const FARCALL_FFI_Scalar*>(frame->attrs.attrs[0]);
      seen.attribute = dtype_name(static_cast<DType>(scalar->dtype));
    }
    const auto* x = static_cast<FARCALL_FFI_Buffer*>(frame->args.args[0]);
    auto* y = static_cast<FARCALL_FFI_Buffer*>(frame->rets.rets[0]);
    int64_t size = 1;
    for (int64_t d = 0; d < y->rank; ++d) size *= y->dims[d];
    for (int64_t i = 0; i < size; ++i) {
      static_cast<float*>(y->data)[i] = 2 * static_cast<const float*>(x->data)[i];
    }
    return nullptr;
  });
  return name;
}

Array vector(float a, float b, float c) {
  const float elements[] = {a, b, c};
  return Array::of(std::span<const float>(elements), kVector.shape());
}

Array call(const std::string& name, const Attributes& attributes = {},
           const FfiCallOptions& options = {}) {
  return ffi_call(name, kVector, {vector(1, 2, 3)}, attributes, options);
}

TEST(Define, AttributesAreOfTheDeclaredTypes) {
  Seen seen;
  const std::string name = add_target(seen);
  call(name, {{"n", Attribute(int64_t{2}).plain()}});
  EXPECT_EQ(seen.attribute, "int64");
  define_target(name, {.default_attributes = {{"n", 1.0f}}});
  call(name);
  EXPECT_EQ(seen.attribute, "float32");
  call(name, {{"n", 2.0f}});
  call(name, {{"n", Attribute(int64_t{2}).plain()}});
  EXPECT_EQ(seen.attribute, "float32");
  EXPECT_EQ(seen.calls, 4);
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                     [&] {
                       call(name, {{"n", 2.0}});
                     }),
            "ffi_call(\"" + name +
                "\"): its definition declares attribute n as float32; got 2.0:f64. Typed values "
                "are not converted: pass a plain number, or a float32");
  define_target(name, {.default_attributes = {{"n", int8_t{1}}}});
  call(name, {{"n", Attribute(2.0).plain()}});
  EXPECT_EQ(seen.attribute, "int8");
}

TEST(Define, ChecksFindWrongRules) {
  Seen seen;
  const std::string name = add_target(seen);
  const Array x = vector(1, 2, 3);
  const auto shape = shape_signature("[...] -> [...]");
  define_target(name, {.shape = shape, .linear_in = {{0}}, .vmap_method = "expand_dims"});
  testing::check_derivatives(name, {x});
  testing::check_batching(name, {x});
  const auto jvp = [](const TargetCall& call, std::span<const Array> primals,
                      std::span<const Array> tangents) {
    return JvpResults{call(primals), {tangents[0]}};
  };
  const auto batch = [](const TargetCall&, std::span<const Array> operands,
                        std::span<const int64_t> axes, const BatchAxis&) {
    return BatchResults{{operands[0]}, {axes[0]}};
  };
  define_target(name, {.shape = shape, .jvp = jvp, .batch = batch});
  const auto finding = [](const auto& check) {
    return error_of<testing::CheckError>(ErrorCode::kFailedPrecondition, check);
  };
  EXPECT_THAT(finding([&] { testing::check_derivatives(name, {x}); }),
              ::testing::StartsWith("check_derivatives(" + name +
                                    "): derivative: fwd mode: the derivative of "
                                    "result 0["));
  EXPECT_EQ(finding([&] { testing::check_batching(name, {x}); }),
            "check_batching(" + name +
                "): vmap: with in_axes=(0,): result 0[0, 2] should be 6.0, "
                "as one call for each element gives, and is 3.0");
}

TEST(Define, ScratchIsPlanned) {
  Seen seen;
  const std::string name = add_target(seen);
  const auto compiled = [&](int64_t size) {
    const ShapeDtype type(DType::kFloat32, {size});
    const ShapeDtype types[] = {type};
    return default_engine().compile(
        record([&](std::span<const Array> x) { return FfiCall(name, {type})(x); }, types), {});
  };
  EXPECT_EQ(compiled(3)->report()[0].planned_scratch_bytes, 0u);
  const size_t before = compiled(3)->memory().temp_bytes;
  define_target(name, {.workspace = [](std::span<const ShapeDtype> operands,
                                       std::span<const ShapeDtype>, const Attributes&) {
                  return static_cast<int64_t>(1000 * operands[0].size());
                }});
  EXPECT_EQ(compiled(3)->report()[0].planned_scratch_bytes, 3000u);
  EXPECT_EQ(compiled(5)->report()[0].planned_scratch_bytes, 5000u);
  EXPECT_GE(compiled(3)->memory().temp_bytes, before + 3000);
  EXPECT_NE(to_text(compiled(3)->report()).find("scratch: 0 bytes, 3000 planned"),
            std::string::npos);
  EXPECT_EQ(values<float>(call(name)), (std::vector<float>{2, 4, 6}));
  define_target(name, {.workspace = [](auto, auto, const Attributes&) { return int64_t{-1}; }});
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [&] { call(name); }),
            "the workspace rule of target \"" + name +
                "\": expected a number of bytes from 0 to 2^48, got -1");
}

TEST(Define, ShardingRulesAreReadAndChecked) {
  const ShardingRule rule("... n, n -> ... n,");
  EXPECT_EQ(rule.text(), "... n, n -> ... n,");
  ASSERT_EQ(rule.operands().size(), 2u);
  EXPECT_EQ(rule.operands()[0], (ShardingRule::Pattern{"0", {{"n"}}}));
  EXPECT_EQ(rule.operands()[1], (ShardingRule::Pattern{"", {{"n"}}}));
  ASSERT_EQ(rule.results().size(), 2u);
  EXPECT_EQ(rule.results()[1], ShardingRule::Pattern());
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [] { ShardingRule("n n -> n"); }),
            "sharding rule \"n n -> n\": n names two dimensions of one array at column 4; write "
            "for instance \"... n, n -> ... n\"");

  const ShardingRule parts("...2 (a b), c -> ...2 a b",
                           {.factor_sizes = {}, .need_replication_factors = {"c"}});
  EXPECT_EQ(parts.operands()[0], (ShardingRule::Pattern{"2", {{"a", "b"}}}));
  const ShapeDtype whole(DType::kFloat32, {3, 8}), c(DType::kFloat32, {5});
  parts.check(std::array{whole, c}, std::array{ShapeDtype(DType::kFloat32, {3, 2, 4})});
  const auto check = [&](std::initializer_list<int64_t> result) {
    return error_of(ErrorCode::kInvalidArgument, [&] {
      parts.check(std::array{whole, c}, std::array{ShapeDtype(DType::kFloat32, result)});
    });
  };
  EXPECT_EQ(
      check({3, 2, 3}),
      "sharding rule \"...2 (a b), c -> ...2 a b\": the dimension (a b) has size 8 in operand 0, "
      "but the product of its factors is 6");
  EXPECT_EQ(
      check({4, 2, 4}),
      "sharding rule \"...2 (a b), c -> ...2 a b\": \"...2\" stands for [3] and, in result 0, "
      "for [4]");

  Seen seen;
  const std::string name = add_target(seen);
  define_target(name, {.sharding_rule = ShardingRule("n -> n")});
  EXPECT_EQ(find_definition(name)->sharding_rule->text(), "n -> n");
  call(name);
  define_target(name, {.sharding_rule = ShardingRule("m n -> m n")});
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [&] { call(name); }),
            "ffi_call(\"" + name +
                "\"): sharding rule \"m n -> m n\": operand 0 should have 2 dimensions, got "
                "f32[3]");
}

TEST(Define, CallsForTangentsHaveNoSideEffect) {
  Seen seen;
  const std::string name = add_target(seen);
  define_target(name, {.linear_in = {{0}}});
  const FlatFunction effectful = [&](std::span<const Array> x) {
    return FfiCall(name, {kVector}, {.has_side_effect = true})(x);
  };
  const ShapeDtype types[] = {kVector, kVector};
  // Unused tangents are not computed; the effect still happens.
  const auto results_alone =
      default_engine().compile(record(
                                   [&](std::span<const Array> xt) {
                                     return jvp(effectful, xt.first(1), xt.subspan(1)).primals;
                                   },
                                   types),
                               {});
  const Array x = vector(1, 2, 3);
  EXPECT_EQ(values<float>(run(*results_alone, std::vector{x, x})[0]),
            (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(seen.calls, 1);
  const auto both = jvp(effectful, std::vector{x}, std::vector{vector(1, 0, 0)});
  EXPECT_EQ(values<float>(both.tangents[0]), (std::vector<float>{2, 0, 0}));
  EXPECT_EQ(seen.calls, 3);
}

}  // namespace
}  // namespace farcall
