// Trees of arrays: what transformed functions take and return. A tree is an Array; a std::vector,
// optional, pair, tuple, array or map (by key) of trees; or a user's struct that is described by
// FARCALL_TREE:
//
//   struct Layer { Array weights, shift; };
//   FARCALL_TREE(Layer, weights, shift);  // in the namespace of the struct
//
// Everything else in a tree is static: a part of the structure, passed on unchanged. Struct members
// that the description omits are not passed on.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include <farcall/core/error.h>
#include <farcall/core/export.h>
#include <farcall/trace/array.h>
#include <farcall/trace/tree_def.h>
#include <farcall/trace/tree_types.h>

namespace farcall {

namespace detail {

// Calls `f(leaf)` for each array of a tree, in order. The tree may be const.
template <class T, class F>
void each_leaf(T& tree, const F& f) {
  using Plain = std::remove_const_t<T>;
  if constexpr (!holds_arrays<Plain>()) {
    return;
  } else if constexpr (std::same_as<Plain, Array>) {
    f(tree);
  } else if constexpr (kIsOptional<Plain>) {
    if (tree) each_leaf(*tree, f);
  } else if constexpr (kIsVector<Plain>) {
    for (auto& part : tree) each_leaf(part, f);
  } else if constexpr (kIsMap<Plain>) {
    for (auto& [key, part] : tree) each_leaf(part, f);
  } else if constexpr (TupleTree<Plain>) {
    std::apply([&](auto&... parts) { (each_leaf(parts, f), ...); }, tree);
  } else {
    with_members(tree, [&](auto&... parts) { (each_leaf(parts, f), ...); });
  }
}

template <class T>
std::vector<Array> flat(const T& tree) {
  std::vector<Array> leaves;
  each_leaf(tree, [&](const Array& leaf) { leaves.push_back(leaf); });
  return leaves;
}

FARCALL_API std::string key_path(const std::string& key);
FARCALL_API std::string key_path(int64_t key);
FARCALL_API std::string member_path(std::string_view name);

template <class T>
class StaticData : public TreeNodeData {
 public:
  explicit StaticData(const T& value) : value_(value) {}

  const T& value() const { return value_; }
  // A value whose type has no == equals only itself.
  bool equals(const TreeNodeData& other) const override {
    if constexpr (is_comparable<T>()) {
      return value_ == static_cast<const StaticData&>(other).value_;
    } else {
      return this == &other;
    }
  }
  std::string to_string(std::span<const std::string>) const override { return "static"; }

 private:
  T value_;
};

template <class Key>
class MapData : public TreeNodeData {
 public:
  explicit MapData(std::vector<Key> keys) : keys_(std::move(keys)) {}

  const std::vector<Key>& keys() const { return keys_; }
  bool equals(const TreeNodeData& other) const override {
    if constexpr (is_comparable<Key>()) {
      return keys_ == static_cast<const MapData&>(other).keys_;
    } else {
      return this == &other;
    }
  }
  std::string child_path(size_t i) const override {
    if constexpr (std::is_integral_v<Key>) {
      return key_path(static_cast<int64_t>(keys_[i]));
    } else if constexpr (std::convertible_to<Key, std::string>) {
      return key_path(static_cast<std::string>(keys_[i]));
    } else {
      return "[key " + std::to_string(i) + "]";
    }
  }

 private:
  std::vector<Key> keys_;
};

template <class T>
class StructData : public TreeNodeData {
 public:
  bool equals(const TreeNodeData&) const override { return true; }
  std::string child_path(size_t i) const override {
    return std::apply(
        [&](const auto&... field) {
          const std::string_view names[] = {field.name...};
          return member_path(names[i]);
        },
        farcall_tree_fields(static_cast<const T*>(nullptr)));
  }
};

template <class T>
TreeDef tree_of(const T& tree) {
  if constexpr (!holds_arrays<T>()) {
    return TreeDef(TreeDef::Kind::kStatic, {}, std::make_shared<const StaticData<T>>(tree));
  } else if constexpr (std::same_as<T, Array>) {
    return {};
  } else if constexpr (kIsOptional<T>) {
    return tree ? tree_of(*tree) : TreeDef(TreeDef::Kind::kNone);
  } else if constexpr (kIsVector<T>) {
    std::vector<TreeDef> parts;
    for (const auto& part : tree) parts.push_back(tree_of(part));
    return TreeDef(TreeDef::Kind::kList, std::move(parts));
  } else if constexpr (kIsMap<T>) {
    using Key = typename T::key_type;
    std::vector<TreeDef> parts;
    std::vector<Key> keys;
    for (const auto& [key, part] : tree) {
      keys.push_back(key);
      parts.push_back(tree_of(part));
    }
    return TreeDef(TreeDef::Kind::kNode, std::move(parts),
                   std::make_shared<const MapData<Key>>(std::move(keys)));
  } else if constexpr (TupleTree<T>) {
    return std::apply(
        [](const auto&... parts) { return TreeDef(TreeDef::Kind::kTuple, {tree_of(parts)...}); },
        tree);
  } else {
    static const TreeNodeDataPtr data = std::make_shared<const StructData<T>>();
    return with_members(tree, [](const auto&... parts) {
      return TreeDef(TreeDef::Kind::kNode, {tree_of(parts)...}, data);
    });
  }
}

template <class T>
const TreeDef& fixed_tree() {
  static const TreeDef tree = tree_of(T());
  return tree;
}

template <class Data>
const Data& data_of(const TreeDef& node) {
  FARCALL_ASSERT(node.data() && typeid(*node.data()) == typeid(Data));
  return static_cast<const Data&>(*node.data());
}

// Builds the tree of this structure from the arrays at `next`, and advances `next` past them.
template <class T>
T build(const TreeDef& node, const Array*& next) {
  if constexpr (!holds_arrays<T>()) {
    return data_of<StaticData<T>>(node).value();
  } else if constexpr (std::same_as<T, Array>) {
    return *next++;
  } else if constexpr (kIsOptional<T>) {
    if (node.kind() == TreeDef::Kind::kNone) return std::nullopt;
    return build<typename T::value_type>(node, next);
  } else if constexpr (kIsVector<T>) {
    T tree;
    tree.reserve(node.children().size());
    for (const TreeDef& child : node.children()) {
      tree.push_back(build<typename T::value_type>(child, next));
    }
    return tree;
  } else if constexpr (kIsMap<T>) {
    T tree;
    const auto& keys = data_of<MapData<typename T::key_type>>(node).keys();
    for (size_t i = 0; i < keys.size(); ++i) {
      tree.emplace(keys[i], build<typename T::mapped_type>(node.children()[i], next));
    }
    return tree;
  } else if constexpr (TupleTree<T>) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return T{build<std::tuple_element_t<I, T>>(node.children()[I], next)...};
    }
    (std::make_index_sequence<std::tuple_size_v<T>>());
  } else {
    T tree{};
    with_members(tree, [&](auto&... parts) {
      const TreeDef* child = node.children().data();
      ((parts = build<std::remove_cvref_t<decltype(parts)>>(*child++, next)), ...);
    });
    return tree;
  }
}
template <class T>
T build(const TreeDef& tree, std::span<const Array> leaves) {
  FARCALL_ASSERT(leaves.size() == tree.num_leaves());
  const Array* next = leaves.data();
  return build<T>(tree, next);
}

[[noreturn]] FARCALL_API void different_trees(const TreeDef& first, const TreeDef& other);

}  // namespace detail

namespace tree {

template <Tree T>
std::vector<Array> leaves(const T& tree) {
  return detail::flat(tree);
}

template <class T>
TreeDef structure(const T& tree) {
  return detail::tree_of(tree);
}

// Applies `f(leaf, …)` to the corresponding leaves of trees of one structure, and returns a tree of
// the results. Raises INVALID_ARGUMENT if the structures differ.
template <class F, Tree T, std::same_as<T>... Others>
T map(const F& f, const T& first, const Others&... others) {
  const TreeDef all = detail::tree_of(first);
  [[maybe_unused]] const auto check = [&](const TreeDef& other) {
    if (!(other == all)) detail::different_trees(all, other);
  };
  (check(detail::tree_of(others)), ...);
  const std::vector<Array> lists[] = {leaves(first), leaves(others)...};
  std::vector<Array> results;
  results.reserve(all.num_leaves());
  for (size_t i = 0; i < all.num_leaves(); ++i) {
    results.push_back([&]<size_t... I>(std::index_sequence<I...>) {
      return Array(f(lists[I][i]...));
    }(std::make_index_sequence<1 + sizeof...(Others)>()));
  }
  return detail::build<T>(all, results);
}

}  // namespace tree
}  // namespace farcall
