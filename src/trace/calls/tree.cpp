#include <farcall/trace/tree.h>

#include <algorithm>
#include <typeinfo>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>
#include <farcall/core/quote.h>
#include <farcall/program/params.h>

namespace farcall {

TreeNodeData::~TreeNodeData() = default;

size_t TreeNodeData::hash() const { return 0; }

std::string TreeNodeData::child_path(size_t i) const { return fmt::format("[{}]", i); }

std::string TreeNodeData::to_string(std::span<const std::string> children) const {
  std::string text = "{";
  for (size_t i = 0; i < children.size(); ++i) {
    text += fmt::format("{}{}: {}", i > 0 ? ", " : "", child_path(i), children[i]);
  }
  return text + "}";
}

TreeDef::TreeDef(Kind kind, std::vector<TreeDef> children, TreeNodeDataPtr data) {
  size_t num_leaves = kind == Kind::kLeaf ? 1 : 0;
  for (const TreeDef& child : children) num_leaves += child.num_leaves();
  node_ =
      std::make_shared<const Node>(Node{kind, std::move(data), std::move(children), num_leaves});
}

TreeDef TreeDef::with_children(std::vector<TreeDef> children) const {
  FARCALL_ASSERT(children.size() == this->children().size());
  return node_ ? TreeDef(node_->kind, std::move(children), node_->data) : TreeDef();
}

bool TreeDef::has_root_of(const TreeDef& other) const {
  if (kind() != other.kind() || children().size() != other.children().size()) return false;
  const TreeNodeData *a = data(), *b = other.data();
  if (a == b) return true;
  return a && b && typeid(*a) == typeid(*b) && a->equals(*b);
}

bool TreeDef::operator==(const TreeDef& other) const {
  if (node_ == other.node_) return true;
  return num_leaves() == other.num_leaves() && has_root_of(other) &&
         std::ranges::equal(children(), other.children());
}

size_t TreeDef::hash() const {
  size_t hash = static_cast<size_t>(kind()) * 31 + children().size();
  if (data()) detail::mix(hash, data()->hash());
  for (const TreeDef& child : children()) detail::mix(hash, child.hash());
  return hash;
}

std::string TreeDef::to_string() const {
  std::vector<std::string> parts;
  for (const TreeDef& child : children()) parts.push_back(child.to_string());
  if (data()) return data()->to_string(parts);
  switch (kind()) {
    case Kind::kNone:
      return "None";
    case Kind::kTuple:
      return fmt::format("({}{})", fmt::join(parts, ", "), parts.size() == 1 ? "," : "");
    case Kind::kList:
      return fmt::format("[{}]", fmt::join(parts, ", "));
    default:
      return "*";
  }
}

std::string leaf_path(const TreeDef& tree, size_t leaf) {
  std::string path;
  const TreeDef* node = &tree;
  while (!node->is_leaf()) {
    size_t i = 0;
    while (leaf >= node->children()[i].num_leaves()) leaf -= node->children()[i++].num_leaves();
    path += node->data() ? node->data()->child_path(i) : fmt::format("[{}]", i);
    node = &node->children()[i];
  }
  return path;
}

namespace detail {

std::string key_path(const std::string& key) { return fmt::format("[{}]", quoted(key)); }
std::string key_path(int64_t key) { return fmt::format("[{}]", key); }

std::string member_path(std::string_view name) { return fmt::format(".{}", name); }

void different_trees(const TreeDef& first, const TreeDef& other) {
  invalid_argument(fmt::format("tree::map: all trees must have one structure, got {} and {}",
                               first.to_string(), other.to_string()));
}

}  // namespace detail
}  // namespace farcall
