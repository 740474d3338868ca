// custom_jvp, custom_vjp and custom_vmap of functions over trees, and checkpoint.
//
// The tangents and cotangents that a rule receives are null only for values that are neither floats
// nor complex numbers. A null Array that a rule returns is zero.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/trace/checkpoint.h>
#include <farcall/trace/custom.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/tree_call.h>
#include <farcall/trace/vmap.h>

namespace farcall {

struct CustomRuleOptions {
  std::string name = {};  // in programs and messages
};

namespace detail {

// Checks what a rule returns against the results of the function, if the function has run.
class FARCALL_API RuleChecks {
 public:
  explicit RuleChecks(std::string rule) : rule_(std::move(rule)) {}

  const std::string& rule() const { return rule_; }
  void set_function(const TreeDef& tree, std::vector<ShapeDtype> types);
  // Raises unless the vmap rule's results are those of the function, batched along `axes` (one for
  // each leaf): INVALID_ARGUMENT for a wrong batch dimension, TypeError for other types or another
  // structure.
  BatchResults check_batch(const TreeDef& tree, std::vector<Array> leaves,
                           std::span<const std::optional<int64_t>> axes, int64_t size) const;
  // Raises TypeError if the rule's results differ from the function's in structure or types.
  void check_results(const TreeDef& tree, std::span<const ShapeDtype> types) const;
  // Raises TypeError unless `tangents` are tangents of values of `types`.
  void check_tangents(const std::string& which, const TreeDef& wanted,
                      std::span<const ShapeDtype> types, const TreeDef& given,
                      std::span<const Array> tangents) const;

 private:
  std::string rule_;  // "the fwd rule of custom_vjp function f"
  std::optional<std::pair<TreeDef, std::vector<ShapeDtype>>> function_;
};

// The tuple of those arguments that hold arrays.
template <class All>
struct WithArraysOf;
template <class... Args>
struct WithArraysOf<std::tuple<Args...>> {
  using type = decltype(std::tuple_cat(
      std::declval<std::conditional_t<holds_arrays<Args>(), std::tuple<Args>, std::tuple<>>>()...));
};
template <class All>
using WithArrays = typename WithArraysOf<All>::type;
FARCALL_API TreeDef without_static(const TreeDef& arguments);

FARCALL_API std::vector<Array> instantiated_tangents(std::span<const Array> tangents,
                                                     std::span<const ShapeDtype> types);

// What a vmap rule receives: the inputs with batch dimension 0 if they are batched, and the axes.
FARCALL_API std::vector<Array> inputs_of_batch(std::span<const Array> inputs,
                                               std::span<const int64_t> axes, int64_t size);
FARCALL_API VmapOptions options_of_batch(const TreeDef& arguments, std::span<const int64_t> axes,
                                         const BatchAxis& axis);

// One call of a function with a custom rule. Programs keep it; it does not hold the arrays of the
// call.
template <class F, class Args>
struct RuledCall {
  using Result = ResultOf<F, Args>;
  F function;
  TreeDef arguments;
  RuleChecks checks;
  TreeDef result = {};  // structure of the result of the function or rule, whichever ran last

  // `rule` names the rule in messages.
  RuledCall(F f, const Args& args, std::string rule)
      : function(std::move(f)), arguments(tree_of(args)), checks(std::move(rule)) {}

  std::vector<Array> run(std::span<const Array> inputs) {
    Args args = build<Args>(arguments, inputs);
    const Result value = std::apply(function, args);
    result = tree_of(value);
    std::vector<Array> leaves = flat(value);
    checks.set_function(result, types_of(leaves));
    return leaves;
  }
};

// Runs `call` with `rules`. Sets the name and the function of `rules`.
template <class Call, class Args>
auto call_ruled(const std::shared_ptr<Call>& call, const std::string& name, CustomCall rules,
                const Args& arguments) {
  rules.name = name;
  rules.function = [call](std::span<const Array> inputs) { return call->run(inputs); };
  const std::vector<Array> results =
      call_custom(std::make_shared<const CustomCall>(std::move(rules)), flat(arguments));
  return build<typename Call::Result>(call->result, results);
}

// Whether rules fit their function; a static_assert reports what is wrong.
template <class Found, class T, size_t... elements>
consteval bool is_pair_with() {
  if constexpr (requires { requires std::tuple_size<Found>::value == 2; }) {
    return (std::is_same_v<std::decay_t<std::tuple_element_t<elements, Found>>, T> && ...);
  } else {
    return false;
  }
}
template <class F, class Rule, class... Args>
consteval bool is_jvp_rule() {
  if constexpr (!takes<F, Args...>()) {
    return false;
  } else {
    using All = Arguments<F, Args...>;
    constexpr bool kTakes = std::is_invocable_v<Rule&, const All&, const All&>;
    static_assert(kTakes,
                  "farcall::custom_jvp: the rule must take (primals, tangents), tuples with an "
                  "entry for each argument");
    if constexpr (!kTakes) {
      return false;
    } else {
      using Found = std::decay_t<std::invoke_result_t<Rule&, const All&, const All&>>;
      constexpr bool kReturns = is_pair_with<Found, ResultOf<F, All>, 0, 1>();
      static_assert(kReturns,
                    "farcall::custom_jvp: the rule must return a pair (results, tangents), both of "
                    "the function's type");
      return kReturns;
    }
  }
}
template <class F, class Forward, class Backward, class... Args>
consteval bool are_vjp_rules() {
  if constexpr (!takes<F, Args...>()) {
    return false;
  } else {
    using All = Arguments<F, Args...>;
    using Result = ResultOf<F, All>;
    constexpr bool kTakes = can_be_called<Forward>(static_cast<const All*>(nullptr));
    static_assert(kTakes,
                  "farcall::custom_vjp: the forward rule must take the function's arguments");
    if constexpr (!kTakes) {
      return false;
    } else {
      using Found = ResultOf<Forward, All>;
      constexpr bool kReturns = is_pair_with<Found, Result, 0>();
      static_assert(kReturns,
                    "farcall::custom_vjp: the forward rule must return a pair (results, "
                    "residuals), the results of the function's type");
      if constexpr (!kReturns) {
        return false;
      } else {
        using Residuals = std::decay_t<std::tuple_element_t<1, Found>>;
        constexpr bool kTakesBack = std::is_invocable_v<Backward&, Residuals, Result>;
        static_assert(kTakesBack,
                      "farcall::custom_vjp: the backward rule must take (residuals, cotangent)");
        return kTakesBack;
      }
    }
  }
}
template <class Rule, class... Parts>
consteval bool takes_batch(const std::tuple<Parts...>*) {
  return std::is_invocable_v<Rule&, const VmapOptions&, const Parts&...>;
}
template <class F, class Rule, class... Args>
consteval bool is_vmap_rule() {
  if constexpr (!takes<F, Args...>()) {
    return false;
  } else {
    constexpr bool kTakes = takes_batch<Rule>(static_cast<const Arguments<F, Args...>*>(nullptr));
    static_assert(kTakes,
                  "farcall::custom_vmap: the rule must take (batch, arguments...), a "
                  "const VmapOptions& first");
    return kTakes;
  }
}

template <class F, class Rule>
struct CustomJvp {
  using Parameters = detail::Parameters<F>;
  F function;
  Rule rule;
  std::string name;

  template <Argument... Args>
  requires(is_jvp_rule<F, Rule, Args...>()) auto operator()(const Args&... args) const {
    using All = Arguments<F, Args...>;
    using Call = RuledCall<F, All>;
    const All arguments{args...};
    const auto call =
        std::make_shared<Call>(function, arguments, "the jvp rule of custom_jvp function " + name);
    CustomCall rules;
    rules.jvp = [call, rule = rule](std::span<const Array> primals,
                                    std::span<const Array> tangents) mutable {
      const All values = build<All>(call->arguments, primals);
      const All directions =
          build<All>(call->arguments, instantiated_tangents(tangents, types_of(primals)));
      const auto [outputs, output_tangents] = rule(values, directions);
      call->result = tree_of(outputs);
      JvpResults results{flat(outputs), flat(output_tangents)};
      const std::vector<ShapeDtype> types = types_of(results.primals);
      call->checks.check_results(call->result, types);
      call->checks.check_tangents("tangent result", call->result, types, tree_of(output_tangents),
                                  results.tangents);
      return results;
    };
    return call_ruled(call, name, std::move(rules), arguments);
  }
};

template <class F, class Forward, class Backward>
struct CustomVjp {
  using Parameters = detail::Parameters<F>;
  F function;
  Forward forward;
  Backward backward;
  std::string name;

  template <Argument... Args>
  requires(are_vjp_rules<F, Forward, Backward, Args...>()) auto operator()(
      const Args&... args) const {
    using All = Arguments<F, Args...>;
    using Call = RuledCall<F, All>;
    using Result = typename Call::Result;
    const All arguments{args...};
    const auto call =
        std::make_shared<Call>(function, arguments, "the fwd rule of custom_vjp function " + name);
    const RuleChecks backward_checks("the bwd rule of custom_vjp function " + name);
    CustomCall rules;
    rules.forward = [call, backward_checks, forward = forward, backward = backward](
                        std::span<const Array> inputs, const std::vector<bool>&) mutable {
      All values = build<All>(call->arguments, inputs);
      const auto [outputs, residuals] = std::apply(forward, values);
      using Residuals = std::decay_t<decltype(residuals)>;
      call->result = tree_of(outputs);
      ForwardResults results{flat(outputs), flat(residuals), {}};
      const std::vector<ShapeDtype> output_types = types_of(results.outputs);
      call->checks.check_results(call->result, output_types);
      results.backward =
          [backward_checks, backward, arguments = call->arguments, input_types = types_of(inputs),
           output_types, result = call->result, residual_tree = tree_of(residuals)](
              std::span<const Array> kept, std::span<const Array> cotangents) mutable {
            const auto found =
                backward(build<Residuals>(residual_tree, kept),
                         build<Result>(result, instantiated_tangents(cotangents, output_types)));
            return cotangents_of<All>(backward_checks, arguments, input_types, found);
          };
      return results;
    };
    return call_ruled(call, name, std::move(rules), arguments);
  }

 private:
  // The leaves of what a backward rule returned: a tuple with a cotangent for each argument that
  // holds arrays, or the cotangent itself if there is only one such argument.
  template <class All, class Found>
  static std::vector<Array> cotangents_of(const RuleChecks& checks, const TreeDef& arguments,
                                          std::span<const ShapeDtype> types, const Found& found) {
    using Wanted = WithArrays<All>;
    if constexpr (std::is_convertible_v<Found, Wanted>) {
      const Wanted cotangents(found);
      std::vector<Array> leaves = flat(cotangents);
      checks.check_tangents("cotangent", without_static(arguments), types, tree_of(cotangents),
                            leaves);
      return leaves;
    } else {
      static_assert(std::tuple_size_v<Wanted> == 1 && std::is_constructible_v<Wanted, Found>,
                    "farcall::custom_vjp: the backward rule must return a tuple with a cotangent "
                    "for each argument that holds arrays, or that of the only one");
      return cotangents_of<All>(checks, arguments, types, Wanted(found));
    }
  }
};

template <class F, class Rule>
struct CustomVmap {
  using Parameters = detail::Parameters<F>;
  F function;
  Rule rule;
  std::string name;

  template <Argument... Args>
  requires(is_vmap_rule<F, Rule, Args...>()) auto operator()(const Args&... args) const {
    using All = Arguments<F, Args...>;
    using Call = RuledCall<F, All>;
    const All arguments{args...};
    const auto call = std::make_shared<Call>(function, arguments,
                                             "the vmap rule of custom_vmap function " + name);
    CustomCall rules;
    rules.batch = [call, rule = rule](std::span<const Array> inputs, std::span<const int64_t> axes,
                                      const BatchAxis& axis) mutable {
      const All values = build<All>(call->arguments, inputs_of_batch(inputs, axes, axis.size));
      const VmapOptions batch = options_of_batch(call->arguments, axes, axis);
      const auto found =
          std::apply([&](const auto&... parts) { return rule(batch, parts...); }, values);
      return results_of(*call, found, axis.size);
    };
    return call_ruled(call, name, std::move(rules), arguments);
  }

 private:
  template <class Call, class Found>
  static BatchResults results_of(Call& call, const Found& found, int64_t size) {
    using Result = typename Call::Result;
    if constexpr (std::is_same_v<Found, Result>) {
      return results_of(call, std::pair<Result, MappedAxes>(found, 0), size);
    } else {
      static_assert(std::is_constructible_v<std::pair<Result, MappedAxes>, Found>,
                    "farcall::custom_vmap: the rule must return results of the function's type, or "
                    "a pair of them and of their MappedAxes");
      const std::pair<Result, MappedAxes> results(found);
      call.result = tree_of(results.first);
      const auto axes = axes_of_leaves(results.second, call.result,
                                       call.checks.rule() + ": the axes of the results");
      return call.checks.check_batch(call.result, flat(results.first), axes, size);
    }
  }
};

}  // namespace detail

// `function` with a rule for forward mode. rule(primals, tangents) takes tuples with an entry for
// each argument and returns a pair (results, tangents of the results). Reverse mode is derived from
// it.
template <class F, class Rule>
auto custom_jvp(F function, Rule rule, CustomRuleOptions options = {}) {
  return detail::CustomJvp<F, Rule>{std::move(function), std::move(rule), std::move(options.name)};
}

// `function` with a rule for reverse mode: forward(args…) returns a pair (results, residuals),
// where the residuals are any tree. backward(residuals, cotangent) returns a tuple with a cotangent
// for each argument that holds arrays, or the cotangent itself if there is only one such argument.
template <class F, class Forward, class Backward>
auto custom_vjp(F function, Forward forward, Backward backward, CustomRuleOptions options = {}) {
  return detail::CustomVjp<F, Forward, Backward>{std::move(function), std::move(forward),
                                                 std::move(backward), std::move(options.name)};
}

// `function` with a rule for vmap, rule(batch, args…). Arguments that are mapped according to
// batch.in_axes have batch dimension 0. The rule returns the results with batch dimension 0, or a
// pair (results, their MappedAxes). Without a custom rule, the rule would be vmap(f, batch)(args…).
template <class F, class Rule>
auto custom_vmap(F function, Rule rule, CustomRuleOptions options = {}) {
  return detail::CustomVmap<F, Rule>{std::move(function), std::move(rule), std::move(options.name)};
}

namespace detail {
template <class F>
struct Checkpointed {
  using Parameters = detail::Parameters<F>;
  mutable F function;
  CheckpointOptions options;

  template <Argument... Args>
  requires(takes<F, Args...>()) auto operator()(const Args&... args) const {
    TreeCallOf<F&, Arguments<F, Args...>> call("checkpoint", function, {args...});
    const std::vector<Array> results = checkpoint(call.as_function(), call.leaves(), options);
    return call.result_of(results);
  }
};
}  // namespace detail

// `function` as a checkpoint: reverse mode keeps only the arguments and recomputes the rest.
template <class F>
auto checkpoint(F function, CheckpointOptions options = {}) {
  return detail::Checkpointed<F>{std::move(function), std::move(options)};
}

}  // namespace farcall
