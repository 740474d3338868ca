// Derivatives of functions over trees: grad, jvp, vjp, linearize and linear_transpose.
//
// Arrays that are neither floats nor complex numbers have no tangents: their tangents are null
// Arrays. Other null tangents and cotangents are zero. Trees of tangents have the same static
// parts.
#pragma once

#include <array>
#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/tree_call.h>
#include <farcall/trace/varying.h>

namespace farcall {

struct GradOptions {
  bool holomorphic = false;  // the derivative of a holomorphic function of complex numbers
  bool allow_int = false;    // allow integer arguments, whose gradients are null Arrays
};

namespace detail {

// A call of a function that is differentiated; keeps the auxiliary data that it returns.
template <class F, class Args, bool kHasAux>
class Differentiable final : public TreeCallOf<F, Args> {
  using Base = TreeCallOf<F, Args>;
  template <class R>
  struct Split {
    using Result = R;
    using Aux = std::tuple<>;
  };
  template <class R, class A>
  requires kHasAux struct Split<std::pair<R, A>> {
    using Result = R;
    using Aux = A;
  };
  static_assert(
      !kHasAux || requires(typename Base::Result r) { r.second; },
      "farcall: with has_aux the function must return a std::pair (result, auxiliary)");

 public:
  using Result = typename Split<typename Base::Result>::Result;
  using Aux = typename Split<typename Base::Result>::Aux;
  using Base::Base;

  Result result_of(std::span<const Array> leaves) const {
    return Base::template result_of<Result>(leaves);
  }
  // The value, followed by the auxiliary data if there are any.
  template <class T>
  auto with_aux(T value) {
    if constexpr (kHasAux) {
      return std::pair(std::move(value), std::move(*aux_));
    } else {
      return value;
    }
  }
  template <class T, class U>
  auto with_aux(T first, U second) {
    if constexpr (kHasAux) {
      return std::tuple(std::move(first), std::move(second), std::move(*aux_));
    } else {
      return std::pair(std::move(first), std::move(second));
    }
  }

 protected:
  std::vector<Array> run(std::span<const Array> inputs) override {
    if constexpr (kHasAux) {
      auto result = this->call(inputs);
      each_leaf(result.second, [](Array& leaf) { leaf = without_tangent(leaf); });
      aux_ = std::move(result.second);
      return this->record_result(result.first);
    } else {
      return Base::run(inputs);
    }
  }

 private:
  std::optional<Aux> aux_;
};

// The numbers of the arguments to differentiate with respect to.
template <int... numbers>
struct Argnums {
  static constexpr bool kIsSingle = sizeof...(numbers) == 1;

  // Their positions; negative numbers count from the last argument.
  template <class Args>
  static consteval std::array<int, sizeof...(numbers)> positions() {
    constexpr int kCount = static_cast<int>(std::tuple_size_v<Args>);
    static_assert(((numbers >= -kCount && numbers < kCount) && ...),
                  "farcall: argnums names an argument that the function does not take");
    constexpr auto kHoldArrays = []<class... Parts>(const std::tuple<Parts...>*) {
      return (holds_arrays<Parts>() && ...);
    };
    static_assert(kHoldArrays(static_cast<const Chosen<Args>*>(nullptr)),
                  "farcall: argnums names an argument that holds no arrays");
    return {(numbers < 0 ? numbers + kCount : numbers)...};
  }
  template <class Args>
  using Chosen = std::tuple<std::tuple_element_t<
      static_cast<size_t>(numbers < 0 ? numbers + static_cast<int>(std::tuple_size_v<Args>)
                                      : numbers),
      Args>...>;
  // A tuple of the chosen arguments, or the argument itself if there is one.
  template <class Args>
  using Tree = std::conditional_t<kIsSingle, std::tuple_element_t<0, Chosen<Args>>, Chosen<Args>>;

  static TreeDef tree(const TreeDef& arguments, std::span<const int> positions) {
    if (kIsSingle) return arguments.children()[static_cast<size_t>(positions[0])];
    std::vector<TreeDef> chosen;
    for (const int i : positions) chosen.push_back(arguments.children()[static_cast<size_t>(i)]);
    return TreeDef(TreeDef::Kind::kTuple, std::move(chosen));
  }
};
template <>
struct Argnums<> : Argnums<0> {};

// Selects the leaves of the chosen arguments from the leaves of all arguments.
FARCALL_API std::vector<Array> leaves_of(const TreeCall& call, std::span<const int> positions,
                                         std::span<const Array> all);

struct Gradient {
  Array value;
  std::vector<Array> cotangents;  // by leaf of the arguments
};
// The gradient with respect to the leaves that vary. The function must return one leaf.
FARCALL_API Gradient call_grad(LeafCall& call, const std::vector<bool>& varies,
                               const GradOptions& options);

// Checks tangents of values of structure `wanted` and of these types, and converts weakly typed
// ones to them. Raises TypeError or INVALID_ARGUMENT, naming `what`.
FARCALL_API std::vector<Array> tangents_of(const std::string& what, const TreeDef& wanted,
                                           std::span<const ShapeDtype> types, const TreeDef& given,
                                           std::vector<Array> tangents);
// Replaces null tangents by zeros, except for types without tangents. Tangents of weakly typed
// values are weakly typed. All tangents vary over at least these axes, those of their values.
FARCALL_API std::vector<Array> instantiated(std::vector<Array> tangents,
                                            std::span<const ShapeDtype> types,
                                            const AxisSets& axes = std::nullopt);
FARCALL_API JvpResults call_jvp(TreeCall& call, const TreeDef& tree, std::vector<Array> tangents);

// A linear map between trees.
struct FARCALL_API LinearCall {
  std::string where;
  std::shared_ptr<const LinearMap> map;
  TreeDef arguments, result;
  // Of the values at which the map was made.
  AxisSets argument_axes, result_axes;

  std::vector<Array> forward(const TreeDef& tree, std::vector<Array> tangents) const;
  std::vector<Array> backward(const TreeDef& tree, std::vector<Array> cotangents) const;
};
// Returns the leaves of the result, and the derivative.
FARCALL_API std::pair<std::vector<Array>, LinearCall> call_linearize(TreeCall& call);
FARCALL_API LinearCall call_linear_transpose(TreeCall& call);
// The function as a linear map of arrays of these types. Raises TypeError if an input or result has
// no tangents.
FARCALL_API LinearMap linear_map_of(LeafCall& call, const std::vector<ShapeDtype>& types,
                                    const AxisSets& axes);

// ---- grad ----

template <class F, class Numbers, bool kHasAux, bool kHasValue>
struct GradOf {
  using Parameters = detail::Parameters<F>;
  mutable F function;
  GradOptions options;

  template <Argument... Args>
  requires(takes<F, Args...>()) auto operator()(const Args&... args) const {
    using All = Arguments<F, Args...>;
    using Call = Differentiable<F&, All, kHasAux>;
    static_assert(
        std::is_same_v<typename Call::Result, Array>,
        "farcall::grad: the function must return one Array, a scalar. For several results "
        "use vjp or jacrev, for auxiliary data has_aux");
    static constexpr auto kPositions = Numbers::template positions<All>();
    Call call(kHasValue ? "value_and_grad" : "grad", function, {args...});
    Gradient found = call_grad(call, call.belong_to(kPositions), options);
    using Wanted = typename Numbers::template Tree<All>;
    auto gradient = build<Wanted>(Numbers::tree(call.arguments(), kPositions),
                                  leaves_of(call, kPositions, found.cotangents));
    if constexpr (kHasValue) {
      return std::pair(call.with_aux(std::move(found.value)), std::move(gradient));
    } else {
      return call.with_aux(std::move(gradient));
    }
  }
};

// ---- jvp, vjp, linearize ----

template <class F, bool kHasAux, class... Primals, class... Tangents>
auto jvp_of_trees(F& function, const std::tuple<Primals...>& primals,
                  const std::tuple<Tangents...>& tangents) {
  using All = Arguments<F, Primals...>;
  Differentiable<F&, All, kHasAux> call("jvp", function, All(primals));
  const All directions(tangents);
  const JvpResults results = call_jvp(call, tree_of(directions), flat(directions));
  return call.with_aux(call.result_of(results.primals), call.result_of(results.tangents));
}

// What linearize returns: maps tangents of the arguments to tangents of the results.
template <class Args, class Result>
class Pushforward {
 public:
  explicit Pushforward(LinearCall call) : call_(std::move(call)) {}
  // Moving copies: a moved-from object remains usable.
  Pushforward(const Pushforward&) = default;
  Pushforward& operator=(const Pushforward&) = default;
  template <class... Tangents>
  Result operator()(const Tangents&... tangents) const {
    const Args all{tangents...};
    return build<Result>(call_.result, call_.forward(tree_of(all), flat(all)));
  }

 private:
  LinearCall call_;
};

// What vjp and linear_transpose return: maps a cotangent of the result to a tuple of cotangents of
// the arguments.
template <class Args, class Result>
class Pullback {
 public:
  explicit Pullback(LinearCall call) : call_(std::move(call)) {}
  // Moving copies: a moved-from object remains usable.
  Pullback(const Pullback&) = default;
  Pullback& operator=(const Pullback&) = default;
  Args operator()(const Result& cotangent) const {
    return build<Args>(call_.arguments, call_.backward(tree_of(cotangent), flat(cotangent)));
  }

 private:
  LinearCall call_;
};

template <template <class, class> class Function, bool kHasAux, class F, class... Args>
auto linearize_trees(const char* where, F& function, const Args&... args) {
  using All = Arguments<F, Args...>;
  using Call = Differentiable<F&, All, kHasAux>;
  Call call(where, function, {args...});
  auto [leaves, linear] = call_linearize(call);
  return call.with_aux(call.result_of(leaves),
                       Function<All, typename Call::Result>(std::move(linear)));
}

}  // namespace detail

// The gradient of a function that returns a scalar, with respect to its first argument or to the
// given ones: grad<1>(f), or grad<0, 2>(f), which returns a tuple. With `has_aux` the function
// returns a pair (scalar, auxiliary data), and the result is a pair (gradient, auxiliary data).
template <int... argnums, class F>
auto grad(F function, GradOptions options = {}) {
  return detail::GradOf<F, detail::Argnums<argnums...>, false, false>{std::move(function), options};
}
template <int... argnums, class F>
auto grad(F function, HasAux, GradOptions options = {}) {
  return detail::GradOf<F, detail::Argnums<argnums...>, true, false>{std::move(function), options};
}

// The same with the value: returns (value, gradient), or ((value, auxiliary), gradient).
template <int... argnums, class F>
auto value_and_grad(F function, GradOptions options = {}) {
  return detail::GradOf<F, detail::Argnums<argnums...>, false, true>{std::move(function), options};
}
template <int... argnums, class F>
auto value_and_grad(F function, HasAux, GradOptions options = {}) {
  return detail::GradOf<F, detail::Argnums<argnums...>, true, true>{std::move(function), options};
}

// The results at `primals`, and their derivative in the direction of `tangents`. Both are tuples
// with an entry for each argument. Returns (results, tangents), or (results, tangents, auxiliary).
template <class F, class... Primals, class... Tangents>
requires(detail::takes<F, Primals...>() && detail::takes<F, Tangents...>()) auto jvp(
    F function, const std::tuple<Primals...>& primals, const std::tuple<Tangents...>& tangents) {
  return detail::jvp_of_trees<F, false>(function, primals, tangents);
}
template <class F, class... Primals, class... Tangents>
requires(detail::takes<F, Primals...>() &&
         detail::takes<F, Tangents...>()) auto jvp(F function, HasAux,
                                                   const std::tuple<Primals...>& primals,
                                                   const std::tuple<Tangents...>& tangents) {
  return detail::jvp_of_trees<F, true>(function, primals, tangents);
}

// The results, and the function that maps cotangents of the results to cotangents of the arguments.
template <class F, class... Args>
requires(detail::OverTrees<F>&& detail::kHaveNoTag<Args...>&& detail::takes<F, Args...>()) auto vjp(
    F function, const Args&... args) {
  return detail::linearize_trees<detail::Pullback, false>("vjp", function, args...);
}
template <class F, std::same_as<HasAux> Tag, class... Args>
requires(detail::OverTrees<F>&& detail::takes<F, Args...>()) auto vjp(F function, Tag,
                                                                      const Args&... args) {
  return detail::linearize_trees<detail::Pullback, true>("vjp", function, args...);
}

// The results, and the derivative at the arguments as a function of tangents.
template <class F, class... Args>
requires(detail::OverTrees<F>&& detail::kHaveNoTag<Args...>&&
             detail::takes<F, Args...>()) auto linearize(F function, const Args&... args) {
  return detail::linearize_trees<detail::Pushforward, false>("linearize", function, args...);
}
template <class F, std::same_as<HasAux> Tag, class... Args>
requires(detail::OverTrees<F>&& detail::takes<F, Args...>()) auto linearize(F function, Tag,
                                                                            const Args&... args) {
  return detail::linearize_trees<detail::Pushforward, true>("linearize", function, args...);
}

// The transpose of a linear function. Only the types of the arguments matter.
template <class F, class... Args>
requires(detail::OverTrees<F>&& detail::kHaveNoTag<Args...>&&
             detail::takes<F, Args...>()) auto linear_transpose(F function, const Args&... args) {
  using All = detail::Arguments<F, Args...>;
  detail::TreeCallOf<F&, All> call("linear_transpose", function, {args...});
  detail::LinearCall linear = detail::call_linear_transpose(call);
  return detail::Pullback<All, detail::ResultOf<F, All>>(std::move(linear));
}

}  // namespace farcall
