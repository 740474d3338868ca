// The structure of a tree of arrays: its containers without the arrays. The same for C++ and for
// front ends in other languages, which describe containers of their own by TreeNodeData.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <farcall/core/export.h>

namespace farcall {

// What a node is beyond its kind: the keys of a map, a class, a static value. Immutable.
class FARCALL_API TreeNodeData {
 public:
  virtual ~TreeNodeData();
  // `other` is of the same class.
  virtual bool equals(const TreeNodeData& other) const = 0;
  virtual size_t hash() const;
  // How child i is reached, for messages: "[\"a\"]", ".a"; "[0]" if a class does not say.
  virtual std::string child_path(size_t i) const;
  // The node with its children, given theirs; "{["a"]: *}" if a class does not say.
  virtual std::string to_string(std::span<const std::string> children) const;
};
using TreeNodeDataPtr = std::shared_ptr<const TreeNodeData>;

// Copies share their nodes.
class FARCALL_API TreeDef {
 public:
  // kNone: nothing, such as an empty std::optional. kNode: a container that its data describes.
  // kStatic: a value that is a part of the structure.
  enum class Kind : uint8_t { kLeaf, kNone, kTuple, kList, kNode, kStatic };

  TreeDef() = default;  // a leaf
  explicit TreeDef(Kind kind, std::vector<TreeDef> children = {}, TreeNodeDataPtr data = nullptr);

  Kind kind() const { return node_ ? node_->kind : Kind::kLeaf; }
  bool is_leaf() const { return kind() == Kind::kLeaf; }
  std::span<const TreeDef> children() const {
    return node_ ? std::span<const TreeDef>(node_->children) : std::span<const TreeDef>();
  }
  size_t num_leaves() const { return node_ ? node_->num_leaves : 1; }
  // Null where the kind tells everything.
  const TreeNodeData* data() const { return node_ ? node_->data.get() : nullptr; }

  // The same node around other children, as many as it has.
  TreeDef with_children(std::vector<TreeDef> children) const;
  // Whether the roots are the same container: of one kind, with equal data and as many children.
  bool has_root_of(const TreeDef& other) const;
  bool operator==(const TreeDef& other) const;
  size_t hash() const;
  // "(*, [*, *], {.w: *})"
  std::string to_string() const;

 private:
  struct Node {
    Kind kind;
    TreeNodeDataPtr data;
    std::vector<TreeDef> children;
    size_t num_leaves;
  };
  std::shared_ptr<const Node> node_;  // null: a leaf
};

// How a leaf is reached from the root, "[0].weights", for messages.
FARCALL_API std::string leaf_path(const TreeDef& tree, size_t leaf);

}  // namespace farcall
