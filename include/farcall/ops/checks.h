// Tests of rules (namespace farcall::testing): compares derivatives with finite differences, and
// vmap with one call per element. Both raise FAILED_PRECONDITION and report the largest error.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/ffi/attribute.h>
#include <farcall/trace/array.h>
#include <farcall/trace/record.h>
#include <farcall/trace/tree_call.h>

namespace farcall::testing {

// `atol` and `rtol` default to what the narrowest float dtype among arguments and results explains.
struct DerivativeChecks {
  int order = 1;  // 2 also checks the derivative of the first derivative along one direction
  bool forward = true, reverse = true;
  std::optional<double> atol = {}, rtol = {};
  std::optional<double> step = {};  // relative for numbers greater than 1
};
struct BatchChecks {
  std::optional<double> atol = {}, rtol = {};
};

namespace detail {

// A function of flat lists, its arguments, and their names for messages.
struct Checked {
  FlatFunction function;
  std::vector<Array> leaves;
  std::vector<size_t> arguments;  // for each leaf, the index of its argument
  std::vector<std::string> names;
};
FARCALL_API void check_derivatives(const Checked& checked, const DerivativeChecks& options);
FARCALL_API void check_batching(const Checked& checked, const BatchChecks& options);
FARCALL_API Checked checked_call(farcall::detail::TreeCall& call);
FARCALL_API Checked checked_target(const std::string& name, ListOf<Array> operands,
                                   const Attributes& attributes);

}  // namespace detail

// Calls the function a few times for each element of the arguments and results, so use small
// arrays. A complex number counts as two real ones.
template <class F, class... Args>
requires(!std::is_convertible_v<F, std::string> &&
         farcall::detail::takes<
             F, Args...>()) void check_derivatives(F function, const std::tuple<Args...>& args,
                                                   const DerivativeChecks& options = {}) {
  using All = farcall::detail::Arguments<F, Args...>;
  farcall::detail::TreeCallOf<F&, All> call("check_derivatives", function, All(args));
  detail::check_derivatives(detail::checked_call(call), options);
}
// Checks vmap, and vmap of vmap, for every choice of mapped arguments and of their first or last
// dimension. The batches are generated from the given arguments, which are for one element.
template <class F, class... Args>
requires(
    !std::is_convertible_v<F, std::string> &&
    farcall::detail::takes<F, Args...>()) void check_batching(F function,
                                                              const std::tuple<Args...>& args,
                                                              const BatchChecks& options = {}) {
  using All = farcall::detail::Arguments<F, Args...>;
  farcall::detail::TreeCallOf<F&, All> call("check_batching", function, All(args));
  detail::check_batching(detail::checked_call(call), options);
}

// The same for a registered target that has a shape rule.
inline void check_derivatives(const std::string& target_name, ListOf<Array> operands,
                              const Attributes& attributes = {},
                              const DerivativeChecks& options = {}) {
  detail::check_derivatives(detail::checked_target(target_name, operands, attributes), options);
}
inline void check_batching(const std::string& target_name, ListOf<Array> operands,
                           const Attributes& attributes = {}, const BatchChecks& options = {}) {
  detail::check_batching(detail::checked_target(target_name, operands, attributes), options);
}

}  // namespace farcall::testing
