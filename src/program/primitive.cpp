#include <farcall/program/primitive.h>

#include <map>
#include <mutex>
#include <shared_mutex>

#include <fmt/format.h>

#include <farcall/core/error.h>

namespace farcall {
namespace {

struct Registry {
  std::shared_mutex mutex;
  std::map<std::string_view, const Primitive*> by_name;

  static Registry& instance() {
    static auto* registry = new Registry;
    return *registry;
  }
};

}  // namespace

void register_primitive(const Primitive& primitive) {
  Registry& registry = Registry::instance();
  std::unique_lock lock(registry.mutex);
  const auto [it, inserted] = registry.by_name.emplace(primitive.name, &primitive);
  if (!inserted && it->second != &primitive) {
    throw Error(ErrorCode::kAlreadyExists,
                fmt::format("there is a primitive named \"{}\" already", primitive.name));
  }
}

const Primitive* find_primitive(std::string_view name) {
  Registry& registry = Registry::instance();
  std::shared_lock lock(registry.mutex);
  const auto it = registry.by_name.find(name);
  return it == registry.by_name.end() ? nullptr : it->second;
}

const Primitive& primitive_named(std::string_view name) {
  const Primitive* found = find_primitive(name);
  if (!found) {
    throw Error(
        ErrorCode::kInternal,
        fmt::format("internal error, a bug in farcall: there is no primitive named \"{}\"", name));
  }
  return *found;
}

std::vector<const Primitive*> all_primitives() {
  Registry& registry = Registry::instance();
  std::shared_lock lock(registry.mutex);
  std::vector<const Primitive*> result;
  for (const auto& [name, primitive] : registry.by_name) result.push_back(primitive);
  return result;
}

std::vector<ShapeDtype> infer_types(const Primitive& primitive, std::span<const ShapeDtype> inputs,
                                    const Params* params) {
  return with_error_prefix(primitive.name, [&] { return primitive.type_rule(inputs, params); });
}

int64_t no_flops(std::span<const ShapeDtype>, std::span<const ShapeDtype>, const Params*) {
  return 0;
}

}  // namespace farcall
