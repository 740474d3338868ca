// Linear functions with a user-defined transpose (linear_call) or inverse (custom_linear_solve),
// over flat lists of arrays and over trees. All transformations compose.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
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

// Calls fun(residuals, inputs), which is linear in `inputs`. Its transpose with respect to `inputs`
// is fun_transpose(residuals, cotangents). linear_call calls both functions once. Raises
// INVALID_ARGUMENT if `fun_transpose` returns other types than those of `inputs`.
using LinearFunction = std::function<std::vector<Array>(std::span<const Array> residuals,
                                                        std::span<const Array> inputs)>;
FARCALL_API std::vector<Array> linear_call(const LinearFunction& fun,
                                           const LinearFunction& fun_transpose,
                                           std::span<const Array> residuals,
                                           std::span<const Array> inputs);

namespace lax {

// Returns x with matvec(x) = b, followed by any auxiliary results.
using LinearSolver =
    std::function<std::vector<Array>(const FlatFunction& matvec, std::span<const Array> b)>;
struct LinearSolveOptions {
  LinearSolver transpose_solve = {};  // solves with the transpose of matvec
  bool is_symmetric = false;          // matvec is its own transpose; `solve` then solves both
};
// Returns what `solve` returns. Its derivatives with respect to b and to what `matvec` closes over
// come from the implicit function theorem; `solve` is never differentiated. The auxiliary results
// have no derivative. Reverse mode needs one of the options. Raises INVALID_ARGUMENT if a function
// returns other types than b's, and TypeError if `matvec` is to be transposed and b contains
// integers.
FARCALL_API std::vector<Array> custom_linear_solve(const FlatFunction& matvec,
                                                   std::span<const Array> b,
                                                   const LinearSolver& solve,
                                                   const LinearSolveOptions& options = {});

}  // namespace lax

// ---- over trees ----

namespace detail {

// Raises TypeError if the structure `found` of `what` differs from `wanted`, the structure of
// `whose`.
FARCALL_API void check_structure(std::string_view what, std::string_view whose,
                                 const TreeDef& wanted, const TreeDef& found);

// True if a solver returns x alone, not a pair of x and auxiliary results.
template <class Result, class X>
inline constexpr bool kReturnsSolution = std::is_convertible_v<Result, X>;

// The names in the messages of a solver: its own, that of the function it takes, and that of the
// argument whose structure x has.
struct SolverNames {
  std::string solver, function, argument;
};
// Adapts `solve`, a solver on trees, to flat lists. `result` receives the structure of its results.
template <class X, class Solve>
lax::LinearSolver flat_solver(const SolverNames& names, const TreeDef& tree, Solve solve,
                              std::shared_ptr<TreeDef> result) {
  return [names, tree, solve = std::move(solve), result = std::move(result)](
             const FlatFunction& flat_function, std::span<const Array> inputs) mutable {
    const std::function<X(const X&)> function = [names, tree, flat_function](const X& x) {
      check_structure(names.solver + ": the argument of " + names.function, names.argument, tree,
                      tree_of(x));
      return build<X>(tree, flat_function(flat(x)));
    };
    const auto found = solve(function, build<X>(tree, inputs));
    const auto checked = [&](const X& x) {
      check_structure(names.solver + ": x", names.argument, tree, tree_of(x));
    };
    if constexpr (kReturnsSolution<decltype(found), X>) {
      const X x(found);
      checked(x);
      *result = tree;
      return flat(x);
    } else {
      checked(X(std::get<0>(found)));
      *result = tree_of(found);
      return flat(found);
    }
  };
}

}  // namespace detail

// linear_call for residuals, arguments and results that are trees.
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

// Passed instead of `transpose_solve`: matvec is its own transpose.
struct Symmetric {};
inline constexpr Symmetric symmetric{};

// custom_linear_solve for b that is a tree. `solve(matvec, b)` receives matvec as a function of a
// tree and returns x or a std::pair of x and auxiliary results. `transpose_solve` is such a
// function, `symmetric`, or omitted.
template <class Matvec, class B, class Solve, class Transpose = std::nullptr_t>
requires(farcall::detail::OverTrees<Matvec>&& farcall::detail::takes<
         Matvec, B>()) auto custom_linear_solve(Matvec matvec, const B& b, Solve solve,
                                                Transpose transpose_solve = {}) {
  using X = std::tuple_element_t<0, farcall::detail::Arguments<Matvec, B>>;
  using Found = std::decay_t<std::invoke_result_t<Solve&, std::function<X(const X&)>, X>>;
  using Result = std::conditional_t<farcall::detail::kReturnsSolution<Found, X>, X, Found>;
  const X right(b);
  const TreeDef tree = farcall::detail::tree_of(right);
  const auto solver = [&](const char* name, auto solve, std::shared_ptr<TreeDef> result) {
    return farcall::detail::flat_solver<X>(
        {std::string("custom_linear_solve: ") + name, "matvec", "b"}, tree, std::move(solve),
        std::move(result));
  };
  const FlatFunction flat_matvec = [&](std::span<const Array> x) {
    X given = farcall::detail::build<X>(tree, x);
    const X found(matvec(given));
    farcall::detail::check_structure("custom_linear_solve: what matvec returns", "b", tree,
                                     farcall::detail::tree_of(found));
    return farcall::detail::flat(found);
  };
  LinearSolveOptions options;
  if constexpr (std::is_same_v<Transpose, Symmetric>) {
    options.is_symmetric = true;
  } else if constexpr (!std::is_same_v<Transpose, std::nullptr_t>) {
    options.transpose_solve =
        solver("transpose_solve", std::move(transpose_solve), std::make_shared<TreeDef>());
  }
  const auto result = std::make_shared<TreeDef>();
  const std::vector<Array> found =
      custom_linear_solve(flat_matvec, farcall::detail::flat(right),
                          solver("solve", std::move(solve), result), options);
  return farcall::detail::build<Result>(*result, found);
}

}  // namespace lax
}  // namespace farcall
