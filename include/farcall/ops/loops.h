// Loops and branches over trees: the functions of control_flow.h for carries, slices and operands
// that are trees. Static parts of trees are passed through unchanged.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/ops/control_flow.h>
#include <farcall/trace/custom_rules.h>
#include <farcall/trace/tree_call.h>

namespace farcall::lax {
namespace detail {

using farcall::detail::Arguments;
using farcall::detail::build;
using farcall::detail::flat;
using farcall::detail::Given;
using farcall::detail::OverTrees;
using farcall::detail::Parameters;
using farcall::detail::ResultOf;
using farcall::detail::takes;
using farcall::detail::tree_of;

// The type of parameter `number` of F, or the decayed argument type T if F is generic.
template <class F, size_t number, class T>
struct ParameterOf {
  template <class Known>
  static auto find() {
    if constexpr (std::is_void_v<Known>) {
      return std::type_identity<Given<std::decay_t<T>>>();
    } else {
      return std::tuple_element<number, Known>();
    }
  }
  using type = typename decltype(find<Parameters<F>>())::type;
};
template <class F, size_t number, class T>
using Parameter = typename ParameterOf<F, number, T>::type;

// Names for the arrays of a tree, such as "carry.weights".
FARCALL_API LeafName paths(std::string root, TreeDef tree);

// Raises TypeError if a body returns a carry of another structure.
FARCALL_API void check_carry(std::string_view function, const TreeDef& wanted,
                             const TreeDef& returned);
FARCALL_API LoopResults scan_trees(const ScanBody& body, const TreeDef& carry_tree,
                                   std::span<const Array> init, const TreeDef& x_tree,
                                   std::span<const Array> xs, const ScanOptions& options);
FARCALL_API std::vector<Array> while_trees(const FlatFunction& cond, const FlatFunction& body,
                                           const TreeDef& tree, std::span<const Array> init);
FARCALL_API std::vector<Array> for_trees(const Array& lower, const Array& upper,
                                         const ForBody& body, const TreeDef& tree,
                                         std::span<const Array> init,
                                         std::optional<int64_t> unroll);
// Calls the function for each batch element in sequence.
FARCALL_API std::vector<Array> map_batch(farcall::detail::TreeCall& call, const VmapOptions& batch);
// The results of the branch that `choice` selects. `trees` are the structures that the branches
// returned last.
FARCALL_API std::vector<Array> branch_trees(BranchFunction function, const Array& choice,
                                            std::span<const FlatFunction> branches,
                                            const std::vector<TreeDef>& trees,
                                            std::span<const Array> operands);

// Calls the branch with the number `choice`.
template <class Result, class Operands, class... Branches>
Result choose(BranchFunction function, const Array& choice, const Operands& operands,
              Branches&... branches) {
  const TreeDef tree = tree_of(operands);
  std::vector<TreeDef> results(sizeof...(Branches));
  std::vector<FlatFunction> functions;
  const auto add = [&](auto& branch) {
    functions.emplace_back([&, number = functions.size()](std::span<const Array> inputs) {
      Operands all = build<Operands>(tree, inputs);
      const Result value = std::apply(branch, all);
      results[number] = tree_of(value);
      return flat(value);
    });
  };
  (add(branches), ...);
  const auto found = branch_trees(function, choice, functions, results, flat(operands));
  return build<Result>(results[0], found);
}

template <class F, class... Args>
using Called = ResultOf<F, Arguments<F, Args...>>;

// Checks that a function fits the loop or branch that it is given to; static_assert reports errors.
template <class F, class Init, class Xs>
consteval bool is_scan_body() {
  if constexpr (!takes<F, Init, Xs>()) {
    return false;
  } else {
    using Results = Called<F, Init, Xs>;
    constexpr bool kIsPair = requires { requires std::tuple_size<Results>::value == 2; };
    static_assert(kIsPair, "farcall::lax::scan: the body must return a pair (carry, y)");
    if constexpr (!kIsPair) {
      return false;
    } else {
      constexpr bool kHasCarry =
          std::is_convertible_v<std::tuple_element_t<0, Results>, Parameter<F, 0, Init>>;
      static_assert(kHasCarry,
                    "farcall::lax::scan: the body must return a carry of the type that it gets");
      return kHasCarry;
    }
  }
}
// For a loop whose carry is parameter `number`.
template <size_t number, class F, class... Args>
consteval bool is_loop_body() {
  if constexpr (!takes<F, Args...>()) {
    return false;
  } else {
    using Carry = std::tuple_element_t<number, Arguments<F, Args...>>;
    constexpr bool kHasCarry = std::is_convertible_v<Called<F, Args...>, Carry>;
    static_assert(kHasCarry, "farcall::lax: the body must return a carry of the type that it gets");
    return kHasCarry;
  }
}
template <class F, class Init>
consteval bool is_condition() {
  if constexpr (!takes<F, Init>()) {
    return false;
  } else {
    constexpr bool kIsArray = std::is_convertible_v<Called<F, Init>, Array>;
    static_assert(kIsArray, "farcall::lax::while_loop: the condition must return an Array");
    return kIsArray;
  }
}
template <class... Operands, class First, class... Others>
consteval bool are_branches(const std::tuple<First, Others...>*) {
  if constexpr (!(takes<First, Operands...>() && ... && takes<Others, Operands...>())) {
    return false;
  } else {
    constexpr bool kAreAlike =
        (std::is_convertible_v<Called<Others, Operands...>, Called<First, Operands...>> && ...);
    static_assert(kAreAlike, "farcall: all branches must return values of one type");
    return kAreAlike;
  }
}

}  // namespace detail

// `body(carry, x)` returns a pair (carry, y). Returns a pair of the last carry and the stacked ys.
// If xs has no arrays, the options must give a length; pass std::nullopt for no xs.
template <class F, class Init, class Xs>
requires(detail::OverTrees<F>&& detail::is_scan_body<F, Init, Xs>()) auto scan(
    F body, const Init& init, const Xs& xs, const ScanOptions& options = {}) {
  using Carry = detail::Parameter<F, 0, Init>;
  using X = detail::Parameter<F, 1, Xs>;
  using Results = detail::Called<F, Init, Xs>;
  using Y = std::decay_t<std::tuple_element_t<1, Results>>;
  const Carry first(init);
  const X slices(xs);
  const TreeDef carry_tree = detail::tree_of(first), x_tree = detail::tree_of(slices);
  TreeDef y_tree;
  const ScanBody flat_body = [&](std::span<const Array> carry, std::span<const Array> x) {
    Carry carry_in = detail::build<Carry>(carry_tree, carry);
    X x_in = detail::build<X>(x_tree, x);
    const Results results = body(carry_in, x_in);
    const Carry carry_out(std::get<0>(results));
    detail::check_carry("scan", carry_tree, detail::tree_of(carry_out));
    y_tree = detail::tree_of(std::get<1>(results));
    return LoopResults{detail::flat(carry_out), detail::flat(std::get<1>(results))};
  };
  const LoopResults found = detail::scan_trees(flat_body, carry_tree, detail::flat(first), x_tree,
                                               detail::flat(slices), options);
  return std::pair(detail::build<Carry>(carry_tree, found.carry),
                   detail::build<Y>(y_tree, found.ys));
}

// Repeats `body` while `cond` returns true. Both take the carry.
template <class Cond, class F, class Init>
requires(detail::OverTrees<F>&& detail::is_condition<Cond, Init>() &&
         detail::is_loop_body<0, F, Init>()) auto while_loop(Cond cond, F body, const Init& init) {
  using Carry = detail::Parameter<F, 0, Init>;
  const Carry first(init);  // NOLINT(performance-unnecessary-copy-initialization): may convert
  const TreeDef tree = detail::tree_of(first);
  const FlatFunction flat_cond = [&](std::span<const Array> inputs) {
    Carry carry = detail::build<Carry>(tree, inputs);
    return std::vector<Array>{cond(carry)};
  };
  const FlatFunction flat_body = [&](std::span<const Array> inputs) {
    Carry carry = detail::build<Carry>(tree, inputs);
    const Carry next(body(carry));
    detail::check_carry("while_loop", tree, detail::tree_of(next));
    return detail::flat(next);
  };
  return detail::build<Carry>(tree,
                              detail::while_trees(flat_cond, flat_body, tree, detail::flat(first)));
}

// Calls `body(i, carry)` with i = lower, …, upper - 1.
template <class F, class Init>
requires(detail::OverTrees<F>&& detail::is_loop_body<1, F, Array, Init>()) auto fori_loop(
    const Array& lower, const Array& upper, F body, const Init& init,
    std::optional<int64_t> unroll = {}) {
  using Carry = detail::Parameter<F, 1, Init>;
  const Carry first(init);
  const TreeDef tree = detail::tree_of(first);
  const ForBody flat_body = [&](const Array& i, std::span<const Array> inputs) {
    Carry carry = detail::build<Carry>(tree, inputs);
    const Carry next(body(i, carry));
    detail::check_carry("fori_loop", tree, detail::tree_of(next));
    return detail::flat(next);
  };
  return detail::build<Carry>(
      tree, detail::for_trees(lower, upper, flat_body, tree, detail::flat(first), unroll));
}

// Calls one of two functions on the operands.
template <class TrueFun, class FalseFun, class... Operands>
requires(detail::OverTrees<TrueFun>&& detail::are_branches<Operands...>(
    static_cast<std::tuple<TrueFun, FalseFun>*>(nullptr))) auto cond(const Array& pred,
                                                                     TrueFun true_fun,
                                                                     FalseFun false_fun,
                                                                     const Operands&... operands) {
  using All = detail::Arguments<TrueFun, Operands...>;
  return detail::choose<detail::ResultOf<TrueFun, All>>(BranchFunction::kCond, pred,
                                                        All{operands...}, false_fun, true_fun);
}

// Calls one of several functions, given as a tuple. An index out of range is clamped.
template <class First, class... Others, class... Operands>
requires(detail::are_branches<Operands...>(static_cast<std::tuple<First, Others...>*>(
    nullptr))) auto switch_(const Array& index, std::tuple<First, Others...> branches,
                            const Operands&... operands) {
  using All = detail::Arguments<First, Operands...>;
  return std::apply(
      [&](auto&... each) {
        return detail::choose<detail::ResultOf<First, All>>(BranchFunction::kSwitch, index,
                                                            All{operands...}, each...);
      },
      branches);
}

// Applies `f` to each slice in sequence; with a batch size, to that many slices at a time by vmap.
template <class F, class Xs>
requires(detail::OverTrees<F>&& detail::takes<F, Xs>()) auto map(
    F f, const Xs& xs, std::optional<int64_t> batch_size = {}) {
  using X = detail::Parameter<F, 0, Xs>;
  const X slices(xs);
  const TreeDef x_tree = detail::tree_of(slices);
  TreeDef tree;
  const FlatFunction flat_function = [&](std::span<const Array> inputs) {
    X x = detail::build<X>(x_tree, inputs);
    const auto result = f(x);
    tree = detail::tree_of(result);
    return detail::flat(result);
  };
  const std::vector<Array> results = map(flat_function, detail::flat(slices), batch_size);
  return detail::build<detail::Called<F, Xs>>(tree, results);
}

// Prefix results of an associative function of two trees along `axis`.
template <class F, class Elems>
requires(detail::OverTrees<F>&& detail::is_loop_body<0, F, Elems, Elems>()) Elems
    associative_scan(F fn, const Elems& elems, bool reverse = false, int64_t axis = 0) {
  const TreeDef tree = detail::tree_of(elems);
  const Combine flat_function = [&](std::span<const Array> a, std::span<const Array> b) {
    Elems first = detail::build<Elems>(tree, a), second = detail::build<Elems>(tree, b);
    const Elems result(fn(first, second));
    detail::check_carry("associative_scan", tree, detail::tree_of(result));
    return detail::flat(result);
  };
  return detail::build<Elems>(tree,
                              associative_scan(flat_function, detail::flat(elems), reverse, axis));
}

}  // namespace farcall::lax

namespace farcall {

// `function` with a vmap rule that loops over the batch.
template <class F>
auto sequential_vmap(F function, CustomRuleOptions options = {}) {
  auto rule = [function, name = options.name](const VmapOptions& batch,
                                              const auto&... arguments) mutable {
    using All = std::tuple<std::decay_t<decltype(arguments)>...>;
    detail::TreeCallOf<F&, All> call("sequential_vmap function " + name, function, {arguments...});
    const std::vector<Array> results = lax::detail::map_batch(call, batch);
    return call.result_of(results);
  };
  return custom_vmap(std::move(function), std::move(rule), std::move(options));
}

}  // namespace farcall
