#include <farcall/ffi/registry.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/edit_distance.h>
#include <farcall/core/error.h>

#include "ffi/target_builder.h"

namespace farcall {
namespace {

// `Text` is std::string in the table, and std::string_view for lookups.
template <class Text>
struct KeyOf {
  Text name;
  bool is_untyped;  // the two kinds have separate namespaces
  Text platform;
};
using Key = KeyOf<std::string>;
using KeyView = KeyOf<std::string_view>;

struct ByName {
  using is_transparent = void;
  template <class A, class B>
  bool operator()(const KeyOf<A>& a, const KeyOf<B>& b) const {
    return std::tuple<std::string_view, bool, std::string_view>(a.name, a.is_untyped, a.platform) <
           std::tuple<std::string_view, bool, std::string_view>(b.name, b.is_untyped, b.platform);
  }
};

// Read when a call is compiled, not when it runs.
struct Registry {
  std::shared_mutex mutex;
  std::map<Key, std::shared_ptr<const Target>, ByName> targets;
  // The ranks of the elements of their batches, if given.
  std::map<std::string, std::optional<size_t>, std::less<>> batch_partitionable;
  std::set<std::string, std::less<>> host_functions;
  std::atomic<uint64_t> version{0};
};

Registry& registry() {
  static Registry* registry = new Registry;  // calls may be compiled until the process ends
  return *registry;
}

void check_name(std::string_view name) {
  if (name.empty()) {
    invalid_argument("registry: the name of a target is empty.");
  }
}

}  // namespace

void insert_targets(std::vector<std::shared_ptr<Target>> wanted) {
  Registry& all = registry();
  const std::unique_lock lock(all.mutex);
  for (const auto& target : wanted) {
    const auto existing =
        all.targets.find(KeyView{target->name(), target->is_untyped(), target->platform()});
    if (existing == all.targets.end()) continue;
    const std::string differences = TargetBuilder::differences(*existing->second, *target);
    if (differences.empty()) continue;
    throw Error(ErrorCode::kAlreadyExists,
                fmt::format("registry: \"{}\" on platform \"{}\" is registered already, with {}. "
                            "Choose another name.",
                            target->name(), target->platform(), differences));
  }
  bool is_changed = false;
  for (auto& target : wanted) {
    Key key{target->name(), target->is_untyped(), target->platform()};
    is_changed |= all.targets.emplace(std::move(key), std::move(target)).second;
  }
  if (is_changed) all.version.fetch_add(1, std::memory_order_release);
}

namespace {

// Whether the typed target with this name already has these handlers.
bool has_handlers(std::string_view name, std::string_view platform, const HandlerBundle& bundle,
                  FARCALL_FFI_Handler_Traits traits) {
  Registry& all = registry();
  const std::shared_lock lock(all.mutex);
  const auto found = all.targets.find(KeyView{name, false, platform});
  return found != all.targets.end() && TargetBuilder::has_handlers(*found->second, bundle, traits);
}

// `make` returns null for a platform that already has the target.
template <typename Make>
void register_on(std::string_view name, std::string_view platform, Make make) {
  check_name(name);
  std::vector<std::shared_ptr<Target>> targets;
  for (const auto& canonical : parse_platform(platform)) {
    if (auto made = make(canonical)) targets.push_back(std::move(made));
  }
  insert_targets(std::move(targets));
}

// The three most similar names, best first.
std::vector<std::string> near_names(const Registry& all, std::string_view name) {
  const size_t limit = std::max<size_t>(2, name.size() / 3);
  std::vector<std::pair<size_t, std::string>> near;
  for (const auto& [key, target] : all.targets) {
    const size_t distance = edit_distance(key.name, name);
    if (distance > 0 && distance <= limit) near.emplace_back(distance, key.name);
  }
  std::ranges::sort(near);
  near.erase(std::unique(near.begin(), near.end()), near.end());
  if (near.size() > 3) near.resize(3);
  std::vector<std::string> names;
  for (auto& [distance, text] : near) names.push_back(fmt::format("\"{}\"", text));
  return names;
}

std::string not_found_message(const Registry& all, std::string_view name,
                              const std::string& platform, bool untyped) {
  std::string text = fmt::format("registry: no {}target \"{}\" on platform \"{}\".",
                                 untyped ? "untyped " : "", name, platform);
  std::vector<std::string> platforms;
  size_t on_platform = 0;
  for (const auto& [key, target] : all.targets) {
    on_platform += key.platform == platform && key.is_untyped == untyped;
    if (key.name != name) continue;
    if (key.is_untyped == untyped) {
      platforms.push_back(key.platform);
    } else if (key.platform == platform) {
      text += untyped
                  ? " It is registered as a typed target: use custom_call_api_version 4."
                  : " It is registered as an untyped target: use custom_call_api_version 0 to 3.";
    }
  }
  if (!platforms.empty())
    text += fmt::format(" It is registered for {}.", fmt::join(platforms, ", "));
  const auto near = near_names(all, name);
  if (!near.empty()) text += fmt::format(" Near names: {}.", fmt::join(near, ", "));
  return text + fmt::format(" The platform has {} {}target{}; register_ffi_target adds one.",
                            on_platform, untyped ? "untyped " : "", on_platform == 1 ? "" : "s");
}

}  // namespace

void register_ffi_target(std::string_view name, const HandlerBundle& bundle,
                         std::string_view platform, int api_version,
                         FARCALL_FFI_Handler_Traits traits) {
  if (api_version != 0 && api_version != 1) {
    invalid_argument(
        fmt::format("registry: \"{}\": api_version must be 0 (untyped) or 1 (typed), got {}.", name,
                    api_version));
  }
  if (api_version == 0) {
    if (bundle.instantiate || bundle.prepare || bundle.initialize || bundle.record) {
      invalid_argument(fmt::format(
          "registry: \"{}\": an untyped target (api_version 0) has only the execute stage.", name));
    }
    return register_legacy_target(name, reinterpret_cast<void*>(bundle.execute), platform, traits);
  }
  register_on(name, platform, [&](const std::string& canonical) -> std::shared_ptr<Target> {
    if (has_handlers(name, canonical, bundle, traits)) return nullptr;
    return TargetBuilder::typed(name, canonical, bundle, traits);
  });
}

void register_ffi_target(std::string_view name, FARCALL_FFI_Handler* execute,
                         std::string_view platform, int api_version,
                         FARCALL_FFI_Handler_Traits traits) {
  register_ffi_target(name, HandlerBundle{.execute = execute}, platform, api_version, traits);
}

void register_ffi_callable(std::string_view name, HandlerFunction callable,
                           std::string_view platform, FARCALL_FFI_Handler_Traits traits) {
  register_on(name, platform, [&](const std::string& canonical) {
    return TargetBuilder::callable(name, canonical, callable, traits);
  });
}

void register_legacy_target(std::string_view name, void* function, std::string_view platform,
                            FARCALL_FFI_Handler_Traits traits) {
  register_on(name, platform, [&](const std::string& canonical) {
    return TargetBuilder::untyped(name, canonical, function, traits);
  });
}

std::shared_ptr<const Target> make_target(std::string_view name, HandlerFunction callable,
                                          std::string_view platform,
                                          FARCALL_FFI_Handler_Traits traits) {
  return TargetBuilder::callable(name, parse_platform(platform).front(), std::move(callable),
                                 traits);
}

std::shared_ptr<const Target> make_target(std::string_view name, const HandlerBundle& bundle,
                                          std::string_view platform,
                                          FARCALL_FFI_Handler_Traits traits) {
  return TargetBuilder::typed(name, parse_platform(platform).front(), bundle, traits);
}

std::shared_ptr<const Target> find_target(std::string_view name, std::string_view platform,
                                          int custom_call_api_version) {
  if (custom_call_api_version < 0 || custom_call_api_version > 4) {
    invalid_argument(
        fmt::format("ffi_call(\"{}\"): custom_call_api_version must be 0 to 3 for untyped "
                    "targets and 4 for typed ones, got {}.",
                    name, custom_call_api_version));
  }
  const bool untyped = custom_call_api_version < 4;
  const auto platforms = parse_platform(platform);
  Registry& all = registry();
  const std::shared_lock lock(all.mutex);
  for (const auto& canonical : platforms) {
    const auto found = all.targets.find(KeyView{name, untyped, canonical});
    if (found == all.targets.end()) continue;
    TargetBuilder::check_versions(*found->second);
    return found->second;
  }
  throw Error(ErrorCode::kNotFound, not_found_message(all, name, platforms.front(), untyped));
}

std::shared_ptr<const Target> find_called_target(std::string_view name, std::string_view platform,
                                                 int custom_call_api_version) {
  try {
    return find_target(name, platform, custom_call_api_version);
  } catch (const Error& error) {
    // The registry's message already names the target.
    FfiError(error.code(), std::string(name), error.message())
        .raise_with(fmt::format("{}: {}", error_code_name(error.code()), error.message()));
  }
}

std::vector<std::shared_ptr<const Target>> typed_targets(std::string_view name) {
  Registry& all = registry();
  std::vector<std::shared_ptr<const Target>> targets;
  const std::shared_lock lock(all.mutex);
  for (auto it = all.targets.lower_bound(KeyView{name, false, {}});
       it != all.targets.end() && it->first.name == name && !it->first.is_untyped; ++it) {
    targets.push_back(it->second);
  }
  return targets;
}

std::shared_ptr<const AttributeTypes> declared_attributes(std::string_view name) {
  for (const auto& target : typed_targets(name)) {
    if (!target->attribute_types().empty()) return {target, &target->attribute_types()};
  }
  return nullptr;
}

uint64_t registry_version() { return registry().version.load(std::memory_order_acquire); }

bool is_registered(std::string_view name, std::string_view platform) {
  Registry& all = registry();
  const auto platforms = parse_platform(platform);
  const std::shared_lock lock(all.mutex);
  return std::ranges::any_of(platforms, [&](const std::string& canonical) {
    return all.targets.contains(KeyView{name, false, canonical}) ||
           all.targets.contains(KeyView{name, true, canonical});
  });
}

void register_ffi_target_as_batch_partitionable(std::string_view name,
                                                std::optional<size_t> element_rank) {
  check_name(name);
  Registry& all = registry();
  const std::unique_lock lock(all.mutex);
  all.batch_partitionable.insert_or_assign(std::string(name), element_rank);
}

bool is_batch_partitionable(std::string_view name) {
  Registry& all = registry();
  const std::shared_lock lock(all.mutex);
  return all.batch_partitionable.contains(name);
}

std::optional<size_t> batch_element_rank(std::string_view name) {
  Registry& all = registry();
  const std::shared_lock lock(all.mutex);
  const auto found = all.batch_partitionable.find(name);
  return found == all.batch_partitionable.end() ? std::nullopt : found->second;
}

void register_ffi_target_as_host_function(std::string_view name) {
  check_name(name);
  Registry& all = registry();
  const std::unique_lock lock(all.mutex);
  all.host_functions.emplace(name);
}

bool is_host_function(std::string_view name) {
  Registry& all = registry();
  const std::shared_lock lock(all.mutex);
  return all.host_functions.contains(name);
}

std::vector<std::string> registered_targets(std::string_view platform) {
  Registry& all = registry();
  const auto platforms = parse_platform(platform);
  std::vector<std::string> names;
  const std::shared_lock lock(all.mutex);
  for (const auto& [key, target] : all.targets) {
    if (std::ranges::find(platforms, key.platform) != platforms.end()) names.push_back(key.name);
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace farcall
