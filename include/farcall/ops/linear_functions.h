// Linear functions of which the user gives the transpose (linear_call) or the inverse
// (custom_linear_solve), over flat lists of arrays and over trees. All transformations nest.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/trace/array.h>
#include <farcall/trace/record.h>
#include <farcall/trace/tree_call.h>

namespace farcall {

// fun(residuals, inputs), whose transpose as a function of `inputs`, in which it is linear, is
// fun_transpose(residuals, cotangents). Both are called once, when this is. Raises INVALID_ARGUMENT
// where `fun_transpose` returns other types than `inputs` have.
using LinearFunction = std::function<std::vector<Array>(std::span<const Array> residuals,
                                                        std::span<const Array> inputs)>;
FARCALL_API std::vector<Array> linear_call(const LinearFunction& fun,
                                           const LinearFunction& fun_transpose,
                                           std::span<const Array> residuals,
                                           std::span<const Array> inputs);

namespace lax {

// Returns x with matvec(x) = b, and then anything else.
using LinearSolver =
    std::function<std::vector<Array>(const FlatFunction& matvec, std::span<const Array> b)>;
struct LinearSolveOptions {
  LinearSolver transpose_solve = {};  // solves with the transpose of matvec
  bool is_symmetric = false;          // matvec is its own transpose; `solve` then solves both
};
// What `solve` returns, differentiated by the implicit function theorem: by b, and by what `matvec`
// closes over, never through `solve`. What `solve` returns beside x has no derivative. Reverse mode
// needs one of the options. Raises INVALID_ARGUMENT for functions that return other types than b's,
// and TypeError for integers in b where `matvec` is to be transposed.
FARCALL_API std::vector<Array> custom_linear_solve(const FlatFunction& matvec,
                                                   std::span<const Array> b,
                                                   const LinearSolver& solve,
                                                   const LinearSolveOptions& options = {});

}  // namespace lax

// ---- over trees ----

namespace detail {

// Raises TypeError where `what` has another structure than `wanted`, which is that of `whose`.
FARCALL_API void check_structure(std::string_view what, std::string_view whose,
                                 const TreeDef& wanted, const TreeDef& found);

// Whether a solver returns x alone, and not a pair of it and of other results.
template <class Result, class X>
inline constexpr bool kReturnsSolution = std::is_convertible_v<Result, X>;

// `solve` of trees as a solver of flat lists; `result` becomes the structure of what it returns.
template <class X, class Solve>
lax::LinearSolver flat_solver(std::string which, const TreeDef& tree, Solve& solve,
                              TreeDef& result) {
  return [which = std::move(which), tree, &solve, &result](const FlatFunction& matvec,
                                                           std::span<const Array> b) {
    const std::function<X(const X&)> function = [which, tree, matvec](const X& x) {
      check_structure(which + ": the argument of matvec", "b", tree, tree_of(x));
      return build<X>(tree, matvec(flat(x)));
    };
    const auto found = solve(function, build<X>(tree, b));
    if constexpr (kReturnsSolution<decltype(found), X>) {
      const X x(found);
      result = tree_of(x);
      check_structure(which + ": x", "b", tree, result);
      return flat(x);
    } else {
      result = tree_of(found);
      check_structure(which + ": x", "b", tree, tree_of(std::get<0>(found)));
      return flat(found);
    }
  };
}

}  // namespace detail

// The same for residuals, arguments and results of any containers.
template <class F, class Transpose, class Residuals, class Inputs>
requires(detail::OverTrees<F>&& detail::takes<F, Residuals, Inputs>()) auto linear_call(
    F fun, Transpose fun_transpose, const Residuals& residuals, const Inputs& inputs) {
  using All = detail::Arguments<F, Residuals, Inputs>;
  using R = std::tuple_element_t<0, All>;
  using X = std::tuple_element_t<1, All>;
  using Y = detail::ResultOf<F, All>;
  const R residual_values(residuals);
  const X values(inputs);
  const TreeDef residual_tree = detail::tree_of(residual_values), tree = detail::tree_of(values);
  TreeDef result;
  const LinearFunction flat_fun = [&](std::span<const Array> r, std::span<const Array> x) {
    R given = detail::build<R>(residual_tree, r);
    X linear = detail::build<X>(tree, x);
    const Y y = fun(given, linear);
    result = detail::tree_of(y);
    return detail::flat(y);
  };
  const LinearFunction flat_transpose = [&](std::span<const Array> r, std::span<const Array> y) {
    R given = detail::build<R>(residual_tree, r);
    Y cotangent = detail::build<Y>(result, y);
    const X found(fun_transpose(given, cotangent));
    detail::check_structure("linear_call: what fun_transpose returns", "the linear arguments", tree,
                            detail::tree_of(found));
    return detail::flat(found);
  };
  const std::vector<Array> found =
      linear_call(flat_fun, flat_transpose, detail::flat(residual_values), detail::flat(values));
  return detail::build<Y>(result, found);
}

namespace lax {

// In place of a function that solves with the transpose: matvec is its own.
struct Symmetric {};
inline constexpr Symmetric symmetric{};

// The same for b of any containers. `solve(matvec, b)` gets matvec as a function of a tree, and
// returns x or a std::pair of x and of other results. `transpose_solve` is a function like it, or
// `symmetric`, or left out.
template <class Matvec, class B, class Solve, class Transpose = std::nullptr_t>
requires(farcall::detail::OverTrees<Matvec>&& farcall::detail::takes<
         Matvec, B>()) auto custom_linear_solve(Matvec matvec, const B& b, Solve solve,
                                                Transpose transpose_solve = {}) {
  using X = std::tuple_element_t<0, farcall::detail::Arguments<Matvec, B>>;
  using Found = std::decay_t<std::invoke_result_t<Solve&, std::function<X(const X&)>, X>>;
  using Result = std::conditional_t<farcall::detail::kReturnsSolution<Found, X>, X, Found>;
  const X right(b);
  const TreeDef tree = farcall::detail::tree_of(right);
  TreeDef result, transposed_result;
  const FlatFunction flat_matvec = [&](std::span<const Array> x) {
    X given = farcall::detail::build<X>(tree, x);
    const X found(matvec(given));
    farcall::detail::check_structure("custom_linear_solve: what matvec returns", "b", tree,
                                     farcall::detail::tree_of(found));
    return farcall::detail::flat(found);
  };
  const std::string name = "custom_linear_solve: ";
  LinearSolveOptions options;
  if constexpr (std::is_same_v<Transpose, Symmetric>) {
    options.is_symmetric = true;
  } else if constexpr (!std::is_same_v<Transpose, std::nullptr_t>) {
    options.transpose_solve = farcall::detail::flat_solver<X>(name + "transpose_solve", tree,
                                                              transpose_solve, transposed_result);
  }
  const std::vector<Array> found = custom_linear_solve(
      flat_matvec, farcall::detail::flat(right),
      farcall::detail::flat_solver<X>(name + "solve", tree, solve, result), options);
  return farcall::detail::build<Result>(result, found);
}

}  // namespace lax
}  // namespace farcall
