#include "ops/foreign/definitions.h"

#include <mutex>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ffi/attribute_type.h>
#include <farcall/ffi/registry.h>
#include <farcall/ops/define.h>
#include <farcall/trace/cache_key.h>
#include <farcall/trace/interpreter.h>

#include "ops/foreign/checks.h"

namespace farcall {
namespace {

struct Definitions {
  struct Entry {
    TargetDefinitionPtr definition;  // null: none
    bool was_read = false;           // since it last changed: programs may depend on it
  };
  std::mutex mutex;
  std::unordered_map<std::string, Entry> by_target;
};

Definitions& definitions() {
  static auto* all = new Definitions;
  return *all;
}

[[noreturn]] void fail_define(const std::string& target, std::string_view what) {
  invalid_argument(fmt::format("define_target(\"{}\"): {}", target, what));
}

// Checks of the parts that are given together.
void check_parts(const std::string& target, const TargetDefinition& d) {
  if (target.empty()) invalid_argument("define_target: target_name is empty");
  if (static_cast<bool>(d.forward) != static_cast<bool>(d.backward)) {
    fail_define(target, "reverse mode needs both halves, forward and backward");
  }
  for (const auto& group : d.linear_in) {
    for (const int64_t operand : group) {
      if (operand >= 0) continue;
      fail_define(target, fmt::format("linear_in names operand {}; count from 0", operand));
    }
  }
  if (d.vmap_method) check_vmap_method(call_text(target), *d.vmap_method);
  if (d.vmap_method && d.batch) {
    fail_define(target, "give a batching rule or a vmap_method, not both");
  }
}

// Checks of parts that may be given one after the other.
void check_whole(const std::string& target, const TargetDefinition& d) {
  if (d.transpose && d.linear_in.empty()) {
    fail_define(target, "a transpose needs linear_in, the operands in which the call is linear");
  }
  const auto signature = operands_of_signature(d.shape);
  for (const auto& group : d.linear_in) {
    for (const int64_t operand : group) {
      if (!signature || operand < static_cast<int64_t>(signature->count)) continue;
      fail_define(target, fmt::format("linear_in names operand {}, but the shape signature \"{}\" "
                                      "has {} operands; count from 0",
                                      operand, signature->text, signature->count));
    }
  }
}

// The definition with these parts in place of its own.
TargetDefinition with_parts(TargetDefinition whole, TargetDefinition parts) {
  // A batching rule and a vmap_method replace each other.
  if (parts.batch || parts.vmap_method) {
    whole.batch = nullptr;
    whole.vmap_method.reset();
  }
  const auto replace = [](auto& old, auto& given, bool is_given) {
    if (is_given) old = std::move(given);
  };
  replace(whole.shape, parts.shape, bool(parts.shape));
  replace(whole.default_attributes, parts.default_attributes, !parts.default_attributes.empty());
  replace(whole.jvp, parts.jvp, bool(parts.jvp));
  replace(whole.forward, parts.forward, bool(parts.forward));
  replace(whole.backward, parts.backward, bool(parts.backward));
  replace(whole.linear_in, parts.linear_in, !parts.linear_in.empty());
  replace(whole.transpose, parts.transpose, bool(parts.transpose));
  replace(whole.batch, parts.batch, bool(parts.batch));
  replace(whole.vmap_method, parts.vmap_method, parts.vmap_method.has_value());
  replace(whole.workspace, parts.workspace, bool(parts.workspace));
  replace(whole.sharding_rule, parts.sharding_rule, parts.sharding_rule.has_value());
  return whole;
}

}  // namespace

Attributes complete_attributes(const std::string& target_name, const Attributes& attributes) {
  const TargetDefinitionPtr definition = find_definition(target_name);
  const auto declared = declared_attributes(target_name);
  Attributes all = definition ? definition->default_attributes : Attributes();
  for (const auto& [name, value] : attributes) all.set(name, value);
  const auto convert = [&](const std::string& name, const Attribute& value) {
    if (declared) {
      const auto known = declared->find(name);
      if (known != declared->end() && known->second.kind != AttributeType::Kind::kAny) {
        return convert_attribute(value, known->second, "its handler", name);
      }
    }
    const Attribute* like = definition ? definition->default_attributes.find(name) : nullptr;
    return like ? convert_attribute(value, AttributeType(*like), "its definition", name)
                : value.typed();
  };
  return with_error_prefix(call_text(target_name), [&] {
    std::vector<Attributes::value_type> converted;
    for (const auto& [name, value] : all) converted.emplace_back(name, convert(name, value));
    return Attributes(std::move(converted));
  });
}

void define_target(const std::string& target_name, TargetDefinition parts) {
  check_parts(target_name, parts);
  TargetDefinitionPtr replaced;  // destroyed after the lock is released: rules may hold any objects
  const std::lock_guard lock(definitions().mutex);
  Definitions::Entry& entry = definitions().by_target[target_name];
  auto made = std::make_shared<const TargetDefinition>(
      with_parts(entry.definition ? *entry.definition : TargetDefinition(), std::move(parts)));
  check_whole(target_name, *made);
  set_workspace_rule(target_name, made->workspace);
  replaced = std::exchange(entry.definition, std::move(made));
  if (std::exchange(entry.was_read, false)) {
    detail::definition_changes.fetch_add(1, std::memory_order_release);
  }
}

uint64_t declarations_version() {
  return detail::definition_changes.load(std::memory_order_acquire) + registry_version();
}

TargetDefinitionPtr find_definition(const std::string& target_name) {
  const std::lock_guard lock(definitions().mutex);
  Definitions::Entry& entry = definitions().by_target[target_name];
  entry.was_read = true;
  return entry.definition;
}

}  // namespace farcall
