// Which types are trees of arrays (tree.h), and what a type says of its trees.
#pragma once

#include <concepts>
#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <farcall/handler/detail/foreach.h>
#include <farcall/program/params.h>
#include <farcall/trace/array.h>

// Write it after the struct, in the same namespace. At most 32 members.
#define FARCALL_TREE(Type, ...)                                                             \
  [[maybe_unused]] constexpr auto farcall_tree_fields(const Type*) {                        \
    return std::tuple_cat(std::tuple<>()                                                    \
                              FARCALL_FFI_FOR_EACH(FARCALL_TREE_FIELD, Type, __VA_ARGS__)); \
  }                                                                                         \
  static_assert(true, "a semicolon follows")
#define FARCALL_TREE_FIELD(Type, name) , std::tuple(::farcall::field(#name, &Type::name))

namespace farcall {

namespace detail {

template <class T>
concept DescribedTree = requires(const T* value) {
  farcall_tree_fields(value);
};
template <class T>
concept TupleTree = requires {
  std::tuple_size<T>::value;
};

template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsMap = false;
template <class K, class T>
inline constexpr bool kIsMap<std::map<K, T>> = true;

// Calls `f(member, …)` with the members of a described struct, which may be const.
template <class T, class F>
constexpr decltype(auto) with_members(T& value, const F& f) {
  return std::apply([&](const auto&... field) { return f(value.*(field.member)...); },
                    farcall_tree_fields(static_cast<const std::remove_const_t<T>*>(nullptr)));
}
// The types of the parts of a tuple or a described struct, as a std::tuple.
template <class T>
struct Parts;
template <TupleTree T>
struct Parts<T> {
  template <size_t... I>
  static std::tuple<std::tuple_element_t<I, T>...> of(std::index_sequence<I...>);
  using type = decltype(of(std::make_index_sequence<std::tuple_size_v<T>>()));
};
template <DescribedTree T>
struct Parts<T> {
  template <class... Members>
  static std::tuple<Members...> of(std::tuple<Field<T, Members>...>);
  using type = decltype(of(farcall_tree_fields(static_cast<const T*>(nullptr))));
};
template <class T>
using PartsOf = typename Parts<T>::type;

template <class T>
consteval bool holds_arrays();
template <class T>
consteval bool has_fixed_structure();

// Probes for the members of an aggregate: convertible to any type, to trees only, to nothing.
struct Anything {
  template <class T>
  operator T() const;
};
struct AnyTree {
  AnyTree(const AnyTree&) = delete;
  template <class T>
  requires(holds_arrays<T>()) operator T() const;
};
struct NoTree {
  NoTree(const NoTree&) = delete;
};
template <class T, class Member, size_t... before>
consteval bool takes_after(std::index_sequence<before...>) {
  return requires(const Member& member) { T{(static_cast<void>(before), Anything())..., member}; };
}
// Whether T is a struct that holds arrays but has no FARCALL_TREE. Looks at the first 8 members.
template <class T>
consteval bool is_undescribed_tree() {
  if constexpr (!std::is_aggregate_v<T> || std::is_array_v<T>) {
    return false;
  } else {
    return []<size_t... i>(std::index_sequence<i...>) {
      return ((takes_after<T, AnyTree>(std::make_index_sequence<i>()) &&
               !takes_after<T, NoTree>(std::make_index_sequence<i>())) ||
              ...);
    }
    (std::make_index_sequence<8>());
  }
}

// Whether values of the type, and of all its parts, have ==. std::tuple declares == whether its
// parts have it or not.
template <class T>
consteval bool is_comparable();
template <class... Parts>
consteval bool are_comparable(const std::tuple<Parts...>*) {
  return (is_comparable<Parts>() && ...);
}
template <class T>
consteval bool is_comparable() {
  if constexpr (kIsVector<T> || kIsOptional<T>) {
    return is_comparable<typename T::value_type>();
  } else if constexpr (kIsMap<T>) {
    return is_comparable<typename T::mapped_type>();
  } else if constexpr (TupleTree<T>) {
    return are_comparable(static_cast<const PartsOf<T>*>(nullptr));
  } else {
    return std::equality_comparable<T>;
  }
}

template <class... Parts>
consteval bool any_holds_arrays(const std::tuple<Parts...>*) {
  return (holds_arrays<Parts>() || ...);
}
template <class... Parts>
consteval bool all_have_fixed_structure(const std::tuple<Parts...>*) {
  return (has_fixed_structure<Parts>() && ...);
}
template <class T>
consteval bool holds_arrays() {
  if constexpr (std::same_as<T, Array>) {
    return true;
  } else if constexpr (kIsVector<T> || kIsOptional<T>) {
    return holds_arrays<typename T::value_type>();
  } else if constexpr (kIsMap<T>) {
    return holds_arrays<typename T::mapped_type>();
  } else if constexpr (TupleTree<T> || DescribedTree<T>) {
    return any_holds_arrays(static_cast<const PartsOf<T>*>(nullptr));
  } else {
    static_assert(!is_undescribed_tree<T>(),
                  "farcall: a struct that holds arrays must be described: "
                  "FARCALL_TREE(Struct, member, ...) after it, in its namespace");
    return false;
  }
}

// Whether all trees of the type have one structure.
template <class T>
consteval bool has_fixed_structure() {
  if constexpr (std::same_as<T, Array>) {
    return true;
  } else if constexpr (TupleTree<T> || DescribedTree<T>) {
    return all_have_fixed_structure(static_cast<const PartsOf<T>*>(nullptr));
  } else {
    return false;
  }
}

}  // namespace detail

// A type whose values hold arrays.
template <class T>
concept Tree = detail::holds_arrays<std::remove_cvref_t<T>>();

}  // namespace farcall
