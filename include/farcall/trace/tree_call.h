// A call of a function over trees: the templates that all transformations share.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/trace/leaf_call.h>
#include <farcall/trace/tree.h>

namespace farcall {

// A tag for functions that return a std::pair (result, auxiliary data). The auxiliary data are not
// differentiated.
struct HasAux {};
inline constexpr HasAux has_aux{};

namespace detail {

// Whether none of the arguments is the tag.
template <class... Args>
inline constexpr bool kHaveNoTag = !(std::is_same_v<Args, HasAux> || ...);

// "argument 0.weights"; `arguments` is the tuple of arguments.
FARCALL_API std::string argument_name(const TreeDef& arguments, size_t leaf);

class FARCALL_API TreeCall : public LeafCall {
 public:
  TreeCall(std::string where, TreeDef arguments, std::vector<Array> leaves)
      : LeafCall(std::move(where), std::move(leaves)), arguments_(std::move(arguments)) {}

  // The structure of the tuple of arguments.
  const TreeDef& arguments() const { return arguments_; }
  // The first leaf of an argument.
  size_t first_leaf(size_t argument) const;
  // By leaf: whether it belongs to one of these arguments.
  std::vector<bool> belong_to(std::span<const int> numbers) const;

  std::string argument_name(size_t leaf) const override;

 private:
  TreeDef arguments_;
};

// ---- what a function is called with ----

// The types of a function's parameters, or void if it has more than one signature.
template <class F>
struct ParametersOf {
  using type = void;
};
template <class R, class... Args>
struct ParametersOf<R (*)(Args...)> {
  using type = std::tuple<std::decay_t<Args>...>;
};
template <class C, class R, class... Args>
struct ParametersOf<R (C::*)(Args...) const> : ParametersOf<R (*)(Args...)> {};
template <class C, class R, class... Args>
struct ParametersOf<R (C::*)(Args...)> : ParametersOf<R (*)(Args...)> {};
// Transformed functions have the parameters of the function that they transform.
template <class F>
requires requires { typename F::Parameters; }
struct ParametersOf<F> {
  using type = typename F::Parameters;
};
template <class F>
requires requires { &F::operator(); }
struct ParametersOf<F> : ParametersOf<decltype(&F::operator())> {};
template <class F>
using Parameters = typename ParametersOf<std::decay_t<F>>::type;

template <class>
inline constexpr bool kHasSpan = false;
template <class... Args>
inline constexpr bool kHasSpan<std::tuple<Args...>> =
    (std::is_same_v<Args, std::span<const Array>> || ...);
// A function over trees, not a function of flat lists: those have overloads of the same names.
template <class F>
concept OverTrees = !kHasSpan<Parameters<F>>;

// An argument of a transformed function. Excludes spans, so that a transformed function is not used
// as a function of flat lists.
template <class T>
concept Argument = !std::is_same_v<std::decay_t<T>, std::span<const Array>>;

// C++ numbers become arrays unless the function's parameters have other types.
template <class T>
using Given = std::conditional_t<std::is_arithmetic_v<T>, Array, T>;

template <class Known, class... Args>
struct ArgumentsOf {
  using type = Known;
};
template <class... Args>
struct ArgumentsOf<void, Args...> {
  using type = std::tuple<Given<std::decay_t<Args>>...>;
};
// The tuple of arguments that the function receives if it is called with `Args`.
template <class F, class... Args>
using Arguments = typename ArgumentsOf<Parameters<F>, Args...>::type;

template <class F, class Args>
using ResultOf = std::decay_t<decltype(std::apply(std::declval<F&>(), std::declval<Args&>()))>;

template <class... Wanted, class... Args>
consteval bool are_convertible(const std::tuple<Wanted...>*, const std::tuple<Args...>*) {
  return (std::is_convertible_v<const Args&, Wanted> && ...);
}
template <class F, class... Args>
consteval bool can_be_called(const std::tuple<Args...>*) {
  return std::is_invocable_v<std::remove_reference_t<F>&, Args&...>;
}

template <class F, class All>
consteval bool returns() {
  constexpr bool kDoes = !std::is_void_v<ResultOf<std::remove_reference_t<F>, All>>;
  static_assert(kDoes,
                "farcall: the function returns nothing; return std::tuple<>() where there is "
                "nothing to return");
  return kDoes;
}

// Whether a function can be called with these arguments. Reports an error once, here, instead of
// deep inside a template. All functions over trees require it.
template <class F, class... Args>
consteval bool takes() {
  using Known = Parameters<F>;
  if constexpr (!std::is_void_v<Known>) {
    constexpr bool kIsNumber = std::tuple_size_v<Known> == sizeof...(Args);
    static_assert(kIsNumber, "farcall: another number of arguments than the function takes");
    if constexpr (!kIsNumber) {
      return false;
    } else {
      constexpr bool kFit = are_convertible(static_cast<const Known*>(nullptr),
                                            static_cast<const std::tuple<Args...>*>(nullptr));
      static_assert(kFit, "farcall: an argument of another type than the function takes");
      return kFit && returns<F, Known>();
    }
  } else {
    using All = std::tuple<Given<std::decay_t<Args>>...>;
    constexpr bool kCan = can_be_called<F>(static_cast<const All*>(nullptr));
    static_assert(kCan, "farcall: the function cannot be called with these arguments");
    if constexpr (kCan) {
      return returns<F, All>();
    } else {
      return false;
    }
  }
}

// `F` may be a reference.
template <class F, class Args>
class TreeCallOf : public TreeCall {
 public:
  using Result = ResultOf<std::remove_reference_t<F>, Args>;
  TreeCallOf(std::string where, F function, const Args& arguments)
      : TreeCall(std::move(where), tree_of(arguments), flat(arguments)),
        function_(static_cast<F&&>(function)) {}

  template <class R = Result>
  R result_of(std::span<const Array> leaves) const {
    return build<R>(result_tree(), leaves);
  }

 protected:
  std::vector<Array> run(std::span<const Array> inputs) override {
    return record_result(call(inputs));
  }
  auto call(std::span<const Array> inputs) {
    Args args = build<Args>(arguments(), inputs);
    return std::apply(function_, args);
  }
  template <class R>
  std::vector<Array> record_result(const R& value) {
    set_result_tree(tree_of(value));
    return flat(value);
  }

 private:
  F function_;
};

}  // namespace detail
}  // namespace farcall
