// Tests of rules (namespace farcall::testing): compares derivatives with finite differences, and
// vmap with one call per element. Both raise CheckError and report the largest error.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <farcall/core/error.h>
#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/ffi/attribute.h>
#include <farcall/trace/array.h>
#include <farcall/trace/tree_call.h>

namespace farcall::testing {

// What a check found, with the code FAILED_PRECONDITION; Python sees an AssertionError.
class FARCALL_API CheckError : public Error {
 public:
  explicit CheckError(std::string message);
  ~CheckError() override;
  [[noreturn]] void raise_with(std::string message) const override;
};

// The default tolerances depend on the narrowest float dtype among arguments and results.
struct DerivativeChecks {
  int64_t order = 1;  // 2 also checks the derivative of the first derivative along one direction
  bool forward = true, reverse = true;
  std::optional<double> atol = {}, rtol = {};
  std::optional<double> step = {};  // relative for numbers greater than 1
};
struct BatchChecks {
  // The mapped dimension of each argument, or std::nullopt. By default every combination of none,
  // the first and the last dimension is checked, for one vmap and for two nested ones.
  std::optional<std::vector<std::optional<int64_t>>> in_axes = {};
  std::array<int64_t, 2> sizes = {3, 2};  // of the outer and of the inner batch
  std::optional<double> atol = {}, rtol = {};
};

namespace detail {

using farcall::detail::LeafCall;

// `arguments` is the structure of the tuple of the call's arguments.
FARCALL_API void check_derivatives(LeafCall& call, const TreeDef& arguments,
                                   const DerivativeChecks& options);
// `report` is called with the name of the vmap while an error of a batched call is handled. It
// raises the error that the caller gets. Without it, the name becomes a prefix of the message.
using ErrorReport = std::function<void(const std::string& where)>;
FARCALL_API void check_batching(LeafCall& call, const TreeDef& arguments,
                                const BatchChecks& options, const ErrorReport& report = {});

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
  detail::check_derivatives(call, call.arguments(), options);
}
// The batches are generated from the given arguments, which are for one element.
template <class F, class... Args>
requires(
    !std::is_convertible_v<F, std::string> &&
    farcall::detail::takes<F, Args...>()) void check_batching(F function,
                                                              const std::tuple<Args...>& args,
                                                              const BatchChecks& options = {}) {
  using All = farcall::detail::Arguments<F, Args...>;
  farcall::detail::TreeCallOf<F&, All> call("check_batching", function, All(args));
  detail::check_batching(call, call.arguments(), options);
}

// The same for a registered target that has a shape rule.
FARCALL_API void check_derivatives(const std::string& target_name, ListOf<Array> operands,
                                   const Attributes& attributes = {},
                                   const DerivativeChecks& options = {});
FARCALL_API void check_batching(const std::string& target_name, ListOf<Array> operands,
                                const Attributes& attributes = {}, const BatchChecks& options = {});

}  // namespace farcall::testing
