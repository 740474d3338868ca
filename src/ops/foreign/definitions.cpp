#include "ops/foreign/definitions.h"

#include <atomic>
#include <mutex>
#include <unordered_map>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ffi/attribute_type.h>
#include <farcall/ffi/registry.h>
#include <farcall/ops/define.h>
#include <farcall/trace/interpreter.h>

#include "ops/foreign/checks.h"

namespace farcall {
namespace {

struct Definitions {
  std::mutex mutex;
  std::atomic<uint64_t> version{0};
  std::unordered_map<std::string, TargetDefinitionPtr> by_target;
};

Definitions& definitions() {
  static auto* all = new Definitions;
  return *all;
}

void check_definition(const std::string& target, const TargetDefinition& d) {
  if (target.empty()) invalid_argument("define_target: target_name is empty");
  const auto fail = [&](std::string_view what) {
    invalid_argument(fmt::format("define_target(\"{}\"): {}", target, what));
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
  if (d.vmap_method) check_vmap_method(call_text(target), *d.vmap_method);
  if (d.vmap_method && d.batch) fail("give a batching rule or a vmap_method, not both");
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

void define_target(const std::string& target_name, TargetDefinition definition) {
  check_definition(target_name, definition);
  auto made = std::make_shared<const TargetDefinition>(std::move(definition));
  set_workspace_rule(target_name, made->workspace);
  const std::lock_guard lock(definitions().mutex);
  definitions().by_target[target_name].swap(made);
  definitions().version.fetch_add(1, std::memory_order_release);
}

uint64_t declarations_version() {
  return definitions().version.load(std::memory_order_acquire) + registry_version();
}

TargetDefinitionPtr find_definition(const std::string& target_name) {
  const std::lock_guard lock(definitions().mutex);
  const auto it = definitions().by_target.find(target_name);
  return it == definitions().by_target.end() ? nullptr : it->second;
}

}  // namespace farcall
