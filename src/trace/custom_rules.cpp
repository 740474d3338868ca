#include <farcall/trace/custom_rules.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>

namespace farcall::detail {
namespace {

std::string describe(std::span<const ShapeDtype> types) {
  std::vector<std::string> texts;
  for (const ShapeDtype type : types) texts.push_back(type.strengthened().to_string());
  return fmt::format("({})", fmt::join(texts, ", "));
}

}  // namespace

void RuleChecks::set_function(const TreeDef& tree, std::vector<ShapeDtype> types) {
  function_.emplace(tree, std::move(types));
}

void RuleChecks::check_results(const TreeDef& tree, std::span<const ShapeDtype> types) const {
  if (!function_) return;
  const auto& [wanted_tree, wanted_types] = *function_;
  if (!(tree == wanted_tree)) {
    throw TypeError(
        fmt::format("{} must return results of the structure that the function returns: expected "
                    "{}, got {}",
                    rule_, wanted_tree.to_string(), tree.to_string()));
  }
  if (!std::ranges::equal(types, wanted_types, {}, &ShapeDtype::strengthened,
                          &ShapeDtype::strengthened)) {
    throw TypeError(
        fmt::format("{} must return results of the types that the function returns: expected {}, "
                    "got {}",
                    rule_, describe(wanted_types), describe(types)));
  }
}

void RuleChecks::check_tangents(const std::string& which, const TreeDef& wanted,
                                std::span<const ShapeDtype> types, const TreeDef& given,
                                std::span<const Array> tangents) const {
  if (!(given == wanted)) {
    throw TypeError(fmt::format("{}: {} should have structure {}, got {}", rule_, which,
                                wanted.to_string(), given.to_string()));
  }
  for (size_t i = 0; i < tangents.size(); ++i) {
    if (tangents[i].is_null() || !has_tangent(types[i])) continue;
    const ShapeDtype type = tangents[i].type();
    if (type.strengthened() == types[i].strengthened()) continue;
    throw TypeError(fmt::format("{}: {}{} should be {}, as the value is; got {}", rule_, which,
                                leaf_path(wanted, i), types[i].strengthened().to_string(),
                                type.to_string()));
  }
}

TreeDef without_static(const TreeDef& arguments) {
  TreeDef node{.kind = TreeDef::Kind::kTuple};
  for (const TreeDef& child : arguments.children) {
    if (child.kind != TreeDef::Kind::kStatic) node.children.push_back(child);
  }
  return inner_node(std::move(node));
}

std::vector<Array> instantiated_tangents(std::span<const Array> tangents,
                                         std::span<const ShapeDtype> types) {
  std::vector<Array> all;
  for (size_t i = 0; i < tangents.size(); ++i) {
    all.push_back(has_tangent(types[i]) ? instantiate(tangents[i], types[i]) : Array());
  }
  return all;
}

}  // namespace farcall::detail
