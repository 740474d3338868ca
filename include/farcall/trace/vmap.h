// vmap of functions over trees.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/trace/tree_call.h>

namespace farcall {

// The mapped axes of a tree: one axis for the whole tree, std::nullopt if the tree is not mapped,
// or a list with an entry for each part of the tree: {0, std::nullopt, {0, 1}}.
class MappedAxes {
 public:
  MappedAxes(int64_t axis = 0) : axis_(axis) {}
  MappedAxes(std::nullopt_t) {}
  MappedAxes(std::initializer_list<MappedAxes> parts)
      : MappedAxes(std::vector<MappedAxes>(parts)) {}
  explicit MappedAxes(std::vector<MappedAxes> parts) : is_list_(true), parts_(std::move(parts)) {}

  bool is_list() const { return is_list_; }
  const std::vector<MappedAxes>& parts() const { return parts_; }
  std::optional<int64_t> axis() const { return axis_; }
  // The axes of one part of the tree. Raises INVALID_ARGUMENT if the list has no such part.
  FARCALL_API const MappedAxes& operator[](size_t part) const;
  // Whether anything in the tree is mapped.
  FARCALL_API bool is_mapped() const;

 private:
  bool is_list_ = false;
  std::optional<int64_t> axis_;
  std::vector<MappedAxes> parts_;
};

struct VmapOptions {
  MappedAxes in_axes = 0;  // of the tuple of arguments: a number, or a list with an entry for each
  MappedAxes out_axes = 0;
  std::string axis_name = {};
  std::optional<int64_t> axis_size = {};  // needed if nothing is mapped
  // The axes of a mesh over which the mapped dimension is split in sharding constraints and
  // shard_maps inside the function, whose specs must not name these axes.
  std::vector<std::string> spmd_axis_names = {};
};

namespace detail {

// Returns one axis for each leaf. Raises INVALID_ARGUMENT, naming `what`, unless `axes` is a prefix
// of the tree.
FARCALL_API std::vector<std::optional<int64_t>> axes_of_leaves(const MappedAxes& axes,
                                                               const TreeDef& tree,
                                                               const std::string& what);
// Returns the leaves of the result. Leaves that are not mapped may be null. `out_axes` is called
// after the function has run. Of `options`, the axes of arguments and results are ignored.
FARCALL_API std::vector<Array> call_vmap(
    LeafCall& call, std::span<const std::optional<int64_t>> in_axes,
    const std::function<std::vector<std::optional<int64_t>>()>& out_axes,
    const VmapOptions& options);
FARCALL_API std::vector<Array> call_vmap(TreeCall& call, const VmapOptions& options);

template <class F>
struct Vmapped {
  using Parameters = detail::Parameters<F>;
  mutable F function;
  VmapOptions options;

  template <Argument... Args>
  requires(takes<F, Args...>()) auto operator()(const Args&... args) const {
    TreeCallOf<F&, Arguments<F, Args...>> call("vmap", function, {args...});
    const std::vector<Array> results = call_vmap(call, options);
    return call.result_of(results);
  }
};

}  // namespace detail

// `function` mapped over a dimension of its arguments. All elements of the batch are computed
// together.
template <class F>
auto vmap(F function, VmapOptions options = {}) {
  return detail::Vmapped<F>{std::move(function), std::move(options)};
}

}  // namespace farcall
