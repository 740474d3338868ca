// Calls whose result types are given by the shape rules of their targets.
#include <string>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/type_text.h>
#include <farcall/ffi/registry.h>
#include <farcall/ops/define.h>
#include <farcall/ops/ffi_call.h>
#include <farcall/primitives/primitives.h>
#include <farcall/trace/interpreter.h>

#include "ops/foreign/checks.h"
#include "ops/foreign/definitions.h"

namespace farcall {
namespace {

std::vector<ShapeDtype> types_by_rule(const std::string& target, const TargetDefinition& d,
                                      std::span<const ShapeDtype> operands,
                                      const Attributes& attributes) {
  return with_error_prefix(call_text(target), [&] { return d.shape(operands, attributes); });
}

}  // namespace

std::vector<Array> TargetCall::operator()(ListOf<Array> operands) const {
  const std::vector<ShapeDtype> types = types_of(operands);
  FfiCallParams other = params;
  if (!same_strong_types(types, operand_types)) {
    const TargetDefinitionPtr definition = find_definition(params.target_name);
    if (!definition || !definition->shape) {
      invalid_argument(
          fmt::format("a rule of target \"{}\" makes its call on ({}), where it was on ({}). "
                      "What the results are then, a shape rule says: give one with define, "
                      "or use ffi_call",
                      params.target_name, types_to_string(types), types_to_string(operand_types)));
    }
    other.batched_operands.clear();
    other.result_types = types_by_rule(params.target_name, *definition, types, params.attributes);
  }
  return bind_primitive(kFfiCall, make_params(std::move(other)), operands);
}

std::vector<Array> call_defined(const std::string& target_name, ListOf<Array> operands,
                                const Attributes& attributes, FfiCallOptions options) {
  const TargetDefinitionPtr definition = find_definition(target_name);
  if (!definition) {
    const bool is_known = is_registered(target_name);
    throw Error(
        ErrorCode::kFailedPrecondition,
        fmt::format("target \"{}\" has no definition{}; define it with a shape rule, or call "
                    "it by ffi_call with the types of its results",
                    target_name, is_known ? "" : ", and no handler of this name is registered"));
  }
  if (!definition->shape) {
    throw Error(ErrorCode::kFailedPrecondition,
                fmt::format("target \"{}\" has no shape rule; give it one with define_target, or "
                            "call it by ffi_call with the types of its results",
                            target_name));
  }
  const Attributes all = complete_attributes(target_name, attributes);
  return FfiCall(target_name, types_by_rule(target_name, *definition, types_of(operands), all),
                 std::move(options))
      .call(operands, all, CallSite::current(), /*is_by_rule=*/true);
}

}  // namespace farcall
