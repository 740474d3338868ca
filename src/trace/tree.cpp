#include <farcall/trace/tree.h>

#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/quote.h>

namespace farcall {

bool StaticValue::operator==(const StaticValue& other) const {
  if (value_ == other.value_) return true;
  if (!type_ || !other.type_ || *type_ != *other.type_ || !equal_) return false;
  return equal_(value_.get(), other.value_.get());
}

bool TreeDef::operator==(const TreeDef& other) const {
  return kind == other.kind && num_leaves == other.num_leaves && children == other.children &&
         value == other.value;
}

namespace {

void append(std::string& text, const TreeDef& node) {
  using Kind = TreeDef::Kind;
  if (node.kind == Kind::kLeaf) {
    text += '*';
  } else if (node.kind == Kind::kNone) {
    text += "None";
  } else if (node.kind == Kind::kStatic) {
    text += "static";
  } else {
    const bool is_list = node.kind == Kind::kList, is_tuple = node.kind == Kind::kTuple;
    text += is_list ? '[' : is_tuple ? '(' : '{';
    for (size_t i = 0; i < node.children.size(); ++i) {
      if (i > 0) text += ", ";
      if (node.child_path) text += node.child_path(node, i) + ": ";
      append(text, node.children[i]);
    }
    if (is_tuple && node.children.size() == 1) text += ',';
    text += is_list ? ']' : is_tuple ? ')' : '}';
  }
}

}  // namespace

std::string TreeDef::to_string() const {
  std::string text;
  append(text, *this);
  return text;
}

std::string leaf_path(const TreeDef& tree, size_t leaf) {
  std::string path;
  const TreeDef* node = &tree;
  while (node->kind != TreeDef::Kind::kLeaf) {
    size_t i = 0;
    while (leaf >= node->children[i].num_leaves) leaf -= node->children[i++].num_leaves;
    path += node->child_path ? node->child_path(*node, i) : fmt::format("[{}]", i);
    node = &node->children[i];
  }
  return path;
}

namespace detail {

std::string key_path(const std::string& key) { return fmt::format("[{}]", quoted(key)); }
std::string key_path(int64_t key) { return fmt::format("[{}]", key); }

std::string member_path(std::string_view name) { return fmt::format(".{}", name); }

TreeDef inner_node(TreeDef node) {
  node.num_leaves = 0;
  for (const TreeDef& child : node.children) node.num_leaves += child.num_leaves;
  return node;
}

void different_trees(const TreeDef& first, const TreeDef& other) {
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("tree::map: all trees must have one structure, got {} and {}",
                          first.to_string(), other.to_string()));
}

}  // namespace detail
}  // namespace farcall
