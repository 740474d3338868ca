// Definitions: what every call of a target needs, said once. The rules belong to the target: each
// ffi_call of it has them, also one that another rule makes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/ffi/attribute.h>
#include <farcall/ffi/workspace.h>
#include <farcall/ops/sharding_rule.h>
#include <farcall/primitives/ffi_call.h>
#include <farcall/trace/array.h>
#include <farcall/trace/custom.h>
#include <farcall/trace/rules.h>

namespace farcall {

// The call that a rule is asked about.
struct TargetCall {
  const FfiCallParams& params;
  std::vector<ShapeDtype> operand_types;

  const Attributes& attributes() const { return params.attributes; }
  // The same call on other operands. Where they are of other types than the call's own, the shape
  // rule says what the results are; without one this is an error.
  FARCALL_API std::vector<Array> operator()(ListOf<Array> operands) const;
};

// Every part is optional. Null arrays are tangents and cotangents that are zero.
struct TargetDefinition {
  // Types of the results, for calls that do not give them.
  std::function<std::vector<ShapeDtype>(std::span<const ShapeDtype> operands,
                                        const Attributes& attributes)>
      shape = {};
  // Attributes of calls that do not give them, and the types of those that are given: plain numbers
  // are converted, others must be of the type. What the target's handlers declare goes before; a
  // plain default takes that type too.
  Attributes default_attributes = {};

  // Derivatives are of a call on one element; where a batch is differentiated they are mapped.
  // Forward mode.
  std::function<JvpResults(const TargetCall& call, std::span<const Array> primals,
                           std::span<const Array> tangents)>
      jvp = {};
  // Reverse mode: results and what the backward half needs; then a cotangent for each operand.
  std::function<ForwardResults(const TargetCall& call, std::span<const Array> operands)> forward =
      {};
  std::function<std::vector<Array>(const TargetCall& call, std::span<const Array> residuals,
                                   std::span<const Array> cotangents)>
      backward = {};
  // Groups of operands: the results are linear in each group, the others held fixed. Gives jvp, and
  // reverse mode too: by `transpose`, or without it by as many calls as an operand has elements.
  // Calls that compute tangents and cotangents have no side effect, whatever the call itself has.
  std::vector<std::vector<int64_t>> linear_in = {};
  // Cotangents of the operands that are null, in which the call is linear.
  std::function<std::vector<Array>(const TargetCall& call, std::span<const Array> operands,
                                   std::span<const Array> cotangents)>
      transpose = {};

  // Batching: a rule, or the vmap_method of calls that give none.
  std::function<BatchResults(const TargetCall& call, std::span<const Array> operands,
                             std::span<const int64_t> axes, const BatchAxis& axis)>
      batch = {};
  std::optional<std::string> vmap_method = {};

  // Bytes of scratch memory that a call takes. They are planned with everything else, and what the
  // handler's scratch allocator hands out comes from there; what goes beyond comes from the heap.
  WorkspaceRule workspace = {};
  // How dimensions may be divided among devices; calls are checked against it.
  std::optional<ShardingRule> sharding = {};
};

// A shape rule from text, one pattern for each operand and result: names stand for sizes, "..." for
// any leading dimensions, the same in all operands; sizes may be numbers, sums and products of
// names ("2*n+1"). Results have the dtype of the first operand, or the one before the bracket:
// "f32[..., n], [n] -> [..., n], i32[...]". Raises INVALID_ARGUMENT for other text.
FARCALL_API std::function<std::vector<ShapeDtype>(std::span<const ShapeDtype>, const Attributes&)>
shape_signature(const std::string& text);

using TargetDefinitionPtr = std::shared_ptr<const TargetDefinition>;

// Replaces what was said of the target before. The target may be registered later. Raises
// INVALID_ARGUMENT for a part that makes no sense alone: `backward` without `forward`, an unknown
// vmap_method, a negative operand number. Programs that are compiled already stay as they are.
FARCALL_API void define_target(const std::string& target_name, TargetDefinition definition);
// Null when nothing was said.
FARCALL_API TargetDefinitionPtr find_definition(const std::string& target_name);

// A call whose result types come from the target's shape rule. Raises FAILED_PRECONDITION when it
// has none.
FARCALL_API std::vector<Array> call_defined(const std::string& target_name, ListOf<Array> operands,
                                            const Attributes& attributes = {},
                                            FfiCallOptions options = {});

}  // namespace farcall
