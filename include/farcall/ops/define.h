// Definitions: the rules of a target (shape, derivatives, batching, …), given once. They apply to
// every ffi_call of the target, also to calls made by other rules.
#pragma once

#include <functional>
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

// The call to which a rule is applied.
struct TargetCall {
  const FfiCallParams& params;
  std::vector<ShapeDtype> operand_types;

  const Attributes& attributes() const { return params.attributes; }
  // The same call on other operands. If their types differ from the original ones, the shape rule
  // gives the result types; without a shape rule this raises.
  FARCALL_API std::vector<Array> operator()(ListOf<Array> operands) const;
};

// The result types of calls that do not specify them.
using ShapeRule = std::function<std::vector<ShapeDtype>(std::span<const ShapeDtype> operands,
                                                        const Attributes& attributes)>;

// Every part is optional. A null array stands for a zero tangent or cotangent.
struct TargetDefinition {
  // Calls that specify their result types are checked against it.
  ShapeRule shape = {};
  // Defaults for attributes that a call omits. They also fix the types of those that it gives:
  // plain numbers are converted, others must have the type. Attribute types that the target's
  // handlers declare take precedence; a plain default is converted to that type too.
  Attributes default_attributes = {};

  // Derivative rules describe a call on one element; if a batch is differentiated, they are mapped
  // over it.
  // Forward mode.
  std::function<JvpResults(const TargetCall& call, std::span<const Array> primals,
                           std::span<const Array> tangents)>
      jvp = {};
  // Reverse mode. `forward` returns the results and the residuals for `backward`, which returns a
  // cotangent for each operand.
  std::function<ForwardResults(const TargetCall& call, std::span<const Array> operands)> forward =
      {};
  std::function<std::vector<Array>(const TargetCall& call, std::span<const Array> residuals,
                                   std::span<const Array> cotangents)>
      backward = {};
  // Groups of operands. The results are linear in each group while the others are fixed. This gives
  // jvp, and reverse mode: by `transpose`, or without it by one call per element of the operand.
  // Calls that compute tangents and cotangents have no side effects, even if the original call has.
  std::vector<std::vector<int64_t>> linear_in = {};
  // The call is linear in the operands that are null; returns the cotangents of those.
  std::function<std::vector<Array>(const TargetCall& call, std::span<const Array> operands,
                                   std::span<const Array> cotangents)>
      transpose = {};

  // Batching: a rule, or the vmap_method of calls that specify none.
  std::function<BatchResults(const TargetCall& call, std::span<const Array> operands,
                             std::span<const int64_t> axes, const BatchAxis& axis)>
      batch = {};
  std::optional<std::string> vmap_method = {};

  // Bytes of scratch memory that a call needs. The engine plans them with its other memory, and the
  // handler's scratch allocator serves from them; requests beyond that use the heap.
  WorkspaceRule workspace = {};
  // How dimensions may be divided among devices. Calls are checked against it.
  std::optional<ShardingRule> sharding_rule = {};
};

// Parses a shape rule with one pattern for each operand and result. Names stand for sizes, and
// "..." for any leading dimensions, the same in all operands. Sizes may be expressions of numbers
// and names with + - * // % and brackets ("(n+7)//8"); // and % round down. A name that stands in
// expressions only is solved for, if the expression is linear in it ("[2*n] -> [n]"). A result has
// the dtype of the first operand, or the one before its bracket: "f32[..., n], [n] -> [..., n],
// i32[...]". Raises INVALID_ARGUMENT for invalid text.
FARCALL_API ShapeRule shape_signature(const std::string& text);

using TargetDefinitionPtr = std::shared_ptr<const TargetDefinition>;

// Adds the parts to the definition of the target: parts that are given replace those of the same
// name, and the others stay. A batching rule and a vmap_method replace each other. The target may
// be registered later. Raises INVALID_ARGUMENT for inconsistent parts: `backward` without
// `forward`, `batch` with vmap_method, an unknown vmap_method, an operand number out of range; then
// nothing is changed. Jitted functions are recorded again with the new rules; compiled programs
// that are held by themselves, and functions that linearize and vjp returned, keep theirs.
FARCALL_API void define_target(const std::string& target_name, TargetDefinition parts);
// Null if the target has no definition.
FARCALL_API TargetDefinitionPtr find_definition(const std::string& target_name);

// A call whose result types come from the target's shape rule. Raises FAILED_PRECONDITION if there
// is no shape rule.
FARCALL_API std::vector<Array> call_defined(const std::string& target_name, ListOf<Array> operands,
                                            const Attributes& attributes = {},
                                            FfiCallOptions options = {});

}  // namespace farcall
