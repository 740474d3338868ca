// Pytrees: nested containers of arrays, and their structure without the leaves.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace farcall::python {

namespace nb = nanobind;

// A node of a structure. Dictionaries are ordered by key; None is a node without children; kFloat0
// is a leaf that is of dtype float0, see float0.h.
struct TreeNode {
  enum class Kind : uint8_t { kLeaf, kNone, kTuple, kList, kDict, kNamedTuple, kCustom, kFloat0 };
  Kind kind = Kind::kLeaf;
  nb::object type;  // kNamedTuple, kCustom: the class. kDict: the class, where it is not dict
  nb::object data;  // kDict: the list of keys. kCustom: the auxiliary data
  std::vector<TreeNode> children;
  size_t num_leaves = 1;

  bool is_leaf() const { return kind == Kind::kLeaf || kind == Kind::kFloat0; }
};

class TreeDef {
 public:
  explicit TreeDef(TreeNode root) : root_(std::move(root)) {}

  const TreeNode& root() const { return root_; }
  size_t num_leaves() const { return root_.num_leaves; }
  bool is_leaf() const { return root_.is_leaf(); }
  // The object with these leaves; raises ValueError for another number of them.
  nb::object unflatten(std::span<const nb::object> leaves) const;
  // "PyTreeDef((*, {'a': *}))"
  std::string to_string() const;
  size_t hash() const;
  bool operator==(const TreeDef& other) const;

 private:
  TreeNode root_;
};
using TreeDefPtr = std::shared_ptr<const TreeDef>;

// Adds the leaves of `tree` to `leaves`. With `is_leaf`, objects for which it is true are leaves.
TreeDefPtr flatten_tree(nb::handle tree, std::vector<nb::object>& leaves, nb::handle is_leaf = {});

// The top of `tree` alone: its children are leaves, which are added to `children`.
TreeDefPtr flatten_one_level(nb::handle tree, std::vector<nb::object>& children);
// Whether both are the same container: kind, class, number of children, keys.
bool is_same_container(const TreeNode& a, const TreeNode& b);

// The path to a leaf, "[0]['a'].x", for messages.
std::string leaf_path(const TreeDef& tree, size_t leaf);

void bind_tree(nb::module_& module);

}  // namespace farcall::python
