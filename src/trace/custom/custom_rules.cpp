#include <farcall/trace/custom_rules.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>
#include <farcall/trace/batch.h>

namespace farcall::detail {
namespace {

std::string describe(std::span<const ShapeDtype> types) {
  std::vector<std::string> texts;
  for (const ShapeDtype& type : types) texts.push_back(type.strengthened().to_string());
  return fmt::format("({})", fmt::join(texts, ", "));
}

MappedAxes axes_of_node(const TreeDef& node, const int64_t*& next) {
  if (node.is_leaf()) {
    return *next++ == kNotBatched ? MappedAxes(std::nullopt) : MappedAxes(0);
  }
  std::vector<MappedAxes> parts;
  for (const TreeDef& child : node.children()) parts.push_back(axes_of_node(child, next));
  return MappedAxes(std::move(parts));
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
    throw TypeError(fmt::format("{}: {}{} must be {}, the type of its value; got {}", rule_, which,
                                leaf_path(wanted, i), types[i].strengthened().to_string(),
                                type.to_string()));
  }
}

BatchResults RuleChecks::check_batch(const TreeDef& tree, std::vector<Array> leaves,
                                     std::span<const std::optional<int64_t>> axes,
                                     int64_t size) const {
  BatchResults results{std::move(leaves), {}};
  std::vector<ShapeDtype> types;
  for (size_t i = 0; i < axes.size(); ++i) {
    const ShapeDtype type = results.outputs[i].type();
    if (!axes[i]) {
      results.axes.push_back(kNotBatched);
      types.push_back(type);
      continue;
    }
    const auto rank = static_cast<int64_t>(type.rank());
    const int64_t axis = *axes[i] < 0 ? *axes[i] + rank : *axes[i];
    if (axis < 0 || axis >= rank || type.shape()[static_cast<size_t>(axis)] != size) {
      invalid_argument(
          fmt::format("{}: result{} should have the batch of {} along its axis {}, got {}. "
                      "If a result is not batched, the rule's second value must say so",
                      rule_, leaf_path(tree, i), size, *axes[i], type.to_string()));
    }
    results.axes.push_back(axis);
    types.push_back(unbatched_type(type, axis));
  }
  check_results(tree, types);
  return results;
}

std::vector<Array> inputs_of_batch(std::span<const Array> inputs, std::span<const int64_t> axes,
                                   int64_t size) {
  std::vector<Array> found;
  for (size_t i = 0; i < inputs.size(); ++i) {
    found.push_back(axes[i] == kNotBatched ? inputs[i] : move_axis(inputs[i], axes[i], 0, size));
  }
  return found;
}

VmapOptions options_of_batch(const TreeDef& arguments, std::span<const int64_t> axes,
                             const BatchAxis& axis) {
  const int64_t* next = axes.data();
  return {.in_axes = axes_of_node(arguments, next),
          .axis_name = axis.name,
          .axis_size = axis.size,
          .spmd_axis_names = axis.spmd_names};
}

TreeDef without_static(const TreeDef& arguments) {
  std::vector<TreeDef> others;
  for (const TreeDef& child : arguments.children()) {
    if (child.kind() != TreeDef::Kind::kStatic) others.push_back(child);
  }
  return TreeDef(TreeDef::Kind::kTuple, std::move(others));
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
