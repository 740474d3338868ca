// Jacobians and Hessians of functions over trees.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/trace/derivatives.h>

namespace farcall {
namespace detail {

// The blocks of the Jacobian for one leaf of the result, by leaf of the arguments, and their types.
// Blocks of leaves that do not vary are unspecified; blocks of leaves without tangents are null.
struct JacobianRow {
  std::vector<Array> blocks;
  std::vector<ShapeDtype> types;
};
using JacobianRows = std::vector<JacobianRow>;
FARCALL_API JacobianRows call_jacfwd(LeafCall& call, const std::vector<bool>& varies,
                                     const GradOptions& options);
FARCALL_API JacobianRows call_jacrev(LeafCall& call, const std::vector<bool>& varies,
                                     const GradOptions& options);
// The blocks of the chosen arguments, row by row.
FARCALL_API std::vector<Array> blocks_of(const TreeCall& call, std::span<const int> positions,
                                         const JacobianRows& rows);

// A tree of type T with trees of type Inner in place of its arrays. A struct becomes a tuple of its
// members, because their types change.
template <class T, class Inner>
struct Nested {
  using type = T;
};
template <class Inner>
struct Nested<Array, Inner> {
  using type = Inner;
};
template <class T, class Inner>
struct Nested<std::vector<T>, Inner> {
  using type = std::vector<typename Nested<T, Inner>::type>;
};
template <class T, class Inner>
struct Nested<std::optional<T>, Inner> {
  using type = std::optional<typename Nested<T, Inner>::type>;
};
template <class K, class T, class Inner>
struct Nested<std::map<K, T>, Inner> {
  using type = std::map<K, typename Nested<T, Inner>::type>;
};
template <class T, class Inner>
requires TupleTree<T> || DescribedTree<T>
struct Nested<T, Inner> {
  template <class... Members>
  static std::tuple<typename Nested<Members, Inner>::type...> of(const std::tuple<Members...>*);
  using type = std::conditional_t<std::is_same_v<Inner, Array>, T,
                                  decltype(of(static_cast<const PartsOf<T>*>(nullptr)))>;
};
template <class T, class Inner>
using NestedTree = typename Nested<T, Inner>::type;

// The structure of such a tree.
FARCALL_API TreeDef nested_tree(const TreeDef& outer, const TreeDef& inner);

template <class F, class Numbers, bool kHasAux, bool kIsForward>
struct JacobianOf {
  using Parameters = detail::Parameters<F>;
  mutable F function;
  GradOptions options;

  template <Argument... Args>
  requires(takes<F, Args...>()) auto operator()(const Args&... args) const {
    using All = Arguments<F, Args...>;
    using Call = Differentiable<F&, All, kHasAux>;
    static constexpr auto kPositions = Numbers::template positions<All>();
    Call call(kIsForward ? "jacfwd" : "jacrev", function, {args...});
    const std::vector<bool> varies = call.belong_to(kPositions);
    const JacobianRows rows =
        kIsForward ? call_jacfwd(call, varies, options) : call_jacrev(call, varies, options);
    using Wanted = typename Numbers::template Tree<All>;
    const TreeDef inner = Numbers::tree(call.arguments(), kPositions);
    return call.with_aux(build<NestedTree<typename Call::Result, Wanted>>(
        nested_tree(call.result_tree(), inner), blocks_of(call, kPositions, rows)));
  }
};

}  // namespace detail

// The Jacobian, in forward or reverse mode: the tree of the result with a tree of the arguments in
// place of each array. The shape of a block is that of the result's array, then that of the
// argument's.
template <int... argnums, class F>
auto jacfwd(F function, GradOptions options = {}) {
  return detail::JacobianOf<F, detail::Argnums<argnums...>, false, true>{std::move(function),
                                                                         options};
}
template <int... argnums, class F>
auto jacfwd(F function, HasAux, GradOptions options = {}) {
  return detail::JacobianOf<F, detail::Argnums<argnums...>, true, true>{std::move(function),
                                                                        options};
}
template <int... argnums, class F>
auto jacrev(F function, GradOptions options = {}) {
  return detail::JacobianOf<F, detail::Argnums<argnums...>, false, false>{std::move(function),
                                                                          options};
}
template <int... argnums, class F>
auto jacrev(F function, HasAux, GradOptions options = {}) {
  return detail::JacobianOf<F, detail::Argnums<argnums...>, true, false>{std::move(function),
                                                                         options};
}

// The Hessian, by forward over reverse mode.
template <int... argnums, class F>
auto hessian(F function, GradOptions options = {}) {
  return jacfwd<argnums...>(jacrev<argnums...>(std::move(function), options), options);
}
template <int... argnums, class F>
auto hessian(F function, HasAux, GradOptions options = {}) {
  return jacfwd<argnums...>(jacrev<argnums...>(std::move(function), has_aux, options), has_aux,
                            options);
}

}  // namespace farcall
