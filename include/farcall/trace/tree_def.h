// The structure of a tree of arrays: its containers without the arrays. C++ and front ends in other
// languages share it; they describe their own containers by TreeNodeData.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <farcall/core/export.h>

namespace farcall {

// Data of a node besides its kind: the keys of a map, a class, a static value. Immutable.
class FARCALL_API TreeNodeData {
 public:
  virtual ~TreeNodeData();
  // `other` has the same class.
  virtual bool equals(const TreeNodeData& other) const = 0;
  virtual size_t hash() const;
  // How child i is accessed, for messages: "[\"a\"]", ".a". The default is "[0]".
  virtual std::string child_path(size_t i) const;
  // The text of the node, given the texts of its children. The default is "{["a"]: *}".
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
  // Null if the kind says everything.
  const TreeNodeData* data() const { return node_ ? node_->data.get() : nullptr; }

  // The same node with other children, of the same number.
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

// The path from the root to a leaf, "[0].weights", for messages.
FARCALL_API std::string leaf_path(const TreeDef& tree, size_t leaf);

}  // namespace farcall
