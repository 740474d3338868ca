#include <farcall/ops/define.h>

#include <array>
#include <mutex>
#include <unordered_map>

#include <fmt/format.h>

#include <farcall/core/element_text.h>
#include <farcall/ops/ffi_call.h>
#include <farcall/trace/interpreter.h>

#include "ops/ffi_call_rules.h"
#include "ops/foreign_checks.h"
#include "ops/type_rules.h"

namespace farcall {
namespace {

struct Definitions {
  std::mutex mutex;
  std::unordered_map<std::string, TargetDefinitionPtr> by_target;
};

Definitions& definitions() {
  static auto* all = new Definitions;
  return *all;
}

void check(const std::string& target, const TargetDefinition& d) {
  if (target.empty()) type_error("define_target: target_name is empty");
  const auto fail = [&](std::string_view what) {
    type_error(fmt::format("define_target(\"{}\"): {}", target, what));
  };
  if (static_cast<bool>(d.forward) != static_cast<bool>(d.backward)) {
    fail("reverse mode needs both halves, forward and backward");
  }
  for (const auto& group : d.linear_in) {
    for (const int64_t operand : group) {
      if (operand < 0) fail(fmt::format("linear_in names operand {}; count from 0", operand));
    }
  }
  if (d.transpose && d.linear_in.empty()) {
    fail("a transpose needs linear_in, the operands in which the call is linear");
  }
  if (d.vmap_method) check_vmap_method(fmt::format("ffi_call(\"{}\")", target), *d.vmap_method);
  if (d.vmap_method && d.batch) fail("give a batching rule or a vmap_method, not both");
}

// The value in the dtype of the default, when it is a plain number of another one. Through text,
// which is exact and refuses what does not fit.
Attribute convert(const std::string& target, const std::string& name, const Attribute& value,
                  const Attribute& like) {
  const bool is_plain = value.kind() == Attribute::Kind::kScalar &&
                        (value.dtype() == DType::kInt64 || value.dtype() == DType::kUInt64 ||
                         value.dtype() == DType::kFloat64);
  if (!is_plain || like.kind() != Attribute::Kind::kScalar || value.dtype() == like.dtype()) {
    return value;
  }
  alignas(16) std::array<std::byte, 16> bytes{};
  try {
    parse_element(like.dtype(), format_element(value.dtype(), value.bytes().data()), bytes.data());
  } catch (const Error&) {
    type_error(
        fmt::format("ffi_call(\"{}\"): attribute {} is declared {}, and {} is no value of it",
                    target, name, dtype_name(like.dtype()), value.to_string()));
  }
  return Attribute::scalar(like.dtype(), std::span(bytes).first(byte_width(like.dtype())));
}

}  // namespace

Attributes complete_attributes(const std::string& target_name, const Attributes& attributes) {
  const TargetDefinitionPtr definition = find_definition(target_name);
  if (!definition || definition->default_attributes.empty()) return attributes;
  Attributes all = definition->default_attributes;
  for (const auto& [name, value] : attributes) {
    const Attribute* like = definition->default_attributes.find(name);
    all.set(name, like ? convert(target_name, name, value, *like) : value);
  }
  return all;
}

std::vector<Array> TargetCall::operator()(std::span<const Array> operands) const {
  return bind_primitive(*find_primitive("ffi_call"), make_params(params), operands);
}

void define_target(const std::string& target_name, TargetDefinition definition) {
  check(target_name, definition);
  auto made = std::make_shared<const TargetDefinition>(std::move(definition));
  const std::lock_guard lock(definitions().mutex);
  definitions().by_target[target_name].swap(made);
}

TargetDefinitionPtr find_definition(const std::string& target_name) {
  const std::lock_guard lock(definitions().mutex);
  const auto it = definitions().by_target.find(target_name);
  return it == definitions().by_target.end() ? nullptr : it->second;
}

std::vector<Array> call_defined(const std::string& target_name, std::span<const Array> operands,
                                const Attributes& attributes) {
  const TargetDefinitionPtr definition = find_definition(target_name);
  if (!definition || !definition->shape) {
    throw Error(ErrorCode::kFailedPrecondition,
                fmt::format("target \"{}\" has no shape rule; give it one with define_target, or "
                            "call it by ffi_call with the types of its results",
                            target_name));
  }
  const Attributes all = complete_attributes(target_name, attributes);
  return FfiCall(target_name, definition->shape(types_of(operands), all))(operands, all);
}

}  // namespace farcall
