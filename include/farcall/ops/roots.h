// custom_root: a root of a function, found by a solver of the user. Its derivative comes from the
// implicit function theorem. For flat lists of arrays and for trees.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/ops/linear_functions.h>
#include <farcall/trace/array.h>
#include <farcall/trace/record.h>
#include <farcall/trace/tree_call.h>

namespace farcall::lax {

// Returns x with f(x) = 0, followed by any auxiliary results.
using RootSolver =
    std::function<std::vector<Array>(const FlatFunction& f, std::span<const Array> initial_guess)>;

// Returns what `solve` returns. The root has derivatives with respect to the traced arrays that `f`
// closes over; the initial guess and the auxiliary results have none. `solve` is not
// differentiated. tangent_solve(g, y) returns x with g(x) = y for a linear g. It must be linear in
// y; for reverse mode, it must be possible to transpose it. The solvers may close over traced
// arrays too, as constants of the derivative. The three functions are called once, to record them.
// Raises INVALID_ARGUMENT unless they return as many arrays as they take, and TypeError unless the
// root has the types of the initial guess.
FARCALL_API std::vector<Array> custom_root(const FlatFunction& f,
                                           std::span<const Array> initial_guess,
                                           const RootSolver& solve,
                                           const LinearSolver& tangent_solve);

// custom_root for an initial guess that is a tree. solve(f, initial_guess) receives f as a function
// of a tree and returns x or a std::pair of x and auxiliary results. Raises TypeError for a
// function that returns another structure.
template <class F, class Guess, class Solve, class TangentSolve>
requires(farcall::detail::OverTrees<F>&& farcall::detail::takes<F, Guess>()) auto custom_root(
    F f, const Guess& initial_guess, Solve solve, TangentSolve tangent_solve) {
  using X = std::tuple_element_t<0, farcall::detail::Arguments<F, Guess>>;
  using Found = std::decay_t<std::invoke_result_t<Solve&, std::function<X(const X&)>, X>>;
  using Result = std::conditional_t<farcall::detail::kReturnsSolution<Found, X>, X, Found>;
  const X guess(initial_guess);
  const TreeDef tree = farcall::detail::tree_of(guess);
  const FlatFunction flat_f = [f = std::move(f), tree](std::span<const Array> x) mutable {
    X given = farcall::detail::build<X>(tree, x);
    const X found(f(given));
    farcall::detail::check_structure("custom_root: what f returns", "the initial guess", tree,
                                     farcall::detail::tree_of(found));
    return farcall::detail::flat(found);
  };
  const auto result = std::make_shared<TreeDef>();
  const std::vector<Array> found = custom_root(
      flat_f, farcall::detail::flat(guess),
      farcall::detail::flat_solver<X>({"custom_root: solve", "f", "the initial guess"}, tree,
                                      std::move(solve), result),
      farcall::detail::flat_solver<X>({"custom_root: tangent_solve", "g", "the initial guess"},
                                      tree, std::move(tangent_solve), std::make_shared<TreeDef>()));
  return farcall::detail::build<Result>(*result, found);
}

}  // namespace farcall::lax
