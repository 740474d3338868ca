// Loops and branches over trees: checks of structures.
#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/loops.h>

namespace farcall::lax::detail {

LeafName paths(std::string root, TreeDef tree) {
  return [root = std::move(root), tree = std::move(tree)](size_t leaf) {
    return root + leaf_path(tree, leaf);
  };
}

void check_carry(std::string_view function, const TreeDef& wanted, const TreeDef& returned) {
  if (returned == wanted) return;
  throw TypeError(fmt::format(
      "{}: the body must return a carry of the structure that it gets; input:\n  {}\noutput:\n  {}",
      function, wanted.to_string(), returned.to_string()));
}

LoopResults scan_trees(const ScanBody& body, const TreeDef& carry_tree, std::span<const Array> init,
                       const TreeDef& x_tree, std::span<const Array> xs,
                       const ScanOptions& options) {
  const int64_t length = scan_length("scan", xs, options, paths("xs", x_tree));
  return run_scan(record_scan(body, init, xs, paths("carry", carry_tree)), init, xs, length,
                  options);
}

std::vector<Array> while_trees(const FlatFunction& cond, const FlatFunction& body,
                               const TreeDef& tree, std::span<const Array> init) {
  return run_while(record_while(cond, body, init, paths("carry", tree)), init);
}

std::vector<Array> for_trees(const Array& lower, const Array& upper, const ForBody& body,
                             const TreeDef& tree, std::span<const Array> init,
                             std::optional<int64_t> unroll) {
  const ForBounds bounds = for_bounds(lower, upper, unroll);
  return run_for(record_for(body, bounds, init, paths("init_val", tree)), bounds, init, unroll);
}

std::vector<Array> map_batch(farcall::detail::TreeCall& call, const VmapOptions& batch) {
  const auto axes = farcall::detail::axes_of_leaves(batch.in_axes, call.arguments(), call.where());
  std::vector<Array> mapped;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i]) mapped.push_back(call.leaves()[i]);
  }
  const ScanBody body = [&](std::span<const Array>, std::span<const Array> x) {
    std::vector<Array> inputs(axes.size());  // null: the call's own leaf
    auto next = x.begin();
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i]) inputs[i] = *next++;
    }
    return LoopResults{{}, call(inputs)};
  };
  return scan(body, {}, mapped, {.length = batch.axis_size}).ys;
}

std::vector<Array> branch_trees(BranchFunction function, const Array& choice,
                                std::span<const FlatFunction> branches,
                                const std::vector<TreeDef>& trees,
                                std::span<const Array> operands) {
  std::vector<Recording> recordings;
  for (size_t i = 0; i < branches.size(); ++i) {
    recordings.push_back(record_branch(branches[i], choice, operands));
    if (trees[i] == trees[0]) continue;
    throw TypeError(fmt::format(
        "{}: all branches must return the same structure; {} returns\n  {}\n{} returns\n  {}",
        name_of(function), branch_name(function, 0), trees[0].to_string(), branch_name(function, i),
        trees[i].to_string()));
  }
  check_branches(function, recordings, paths("result", trees[0]));
  return run_branches(branch_number(function, choice, branches.size()), recordings, operands);
}

}  // namespace farcall::lax::detail
