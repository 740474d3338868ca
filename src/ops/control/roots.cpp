// custom_root: derivatives of roots by the implicit function theorem.
#include <farcall/ops/roots.h>

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/custom.h>
#include <farcall/trace/custom_rules.h>
#include <farcall/trace/derive.h>
#include <farcall/trace/differentiate.h>

#include "ops/control/programs.h"

namespace farcall::lax {
namespace {

using control::concat;

void check_count(std::string_view what, size_t count, size_t wanted, bool may_be_more) {
  if (count == wanted || (may_be_more && count > wanted)) return;
  invalid_argument(fmt::format(
      "custom_root: {} must return {}{} array{}, as many as the initial guess has; got {}", what,
      may_be_more ? "at least " : "", wanted, wanted == 1 ? "" : "s", count));
}

void check_type(std::string_view what, size_t i, ShapeDtype found, ShapeDtype wanted,
                std::string_view whose) {
  if (found.strengthened() == wanted.strengthened()) return;
  throw TypeError(fmt::format("custom_root: result {} of {} must be {}, the type of {}; got {}", i,
                              what, wanted.strengthened().to_string(), whose, found.to_string()));
}

std::vector<bool> have_tangents(std::span<const ShapeDtype> types) {
  std::vector<bool> flags;
  for (const ShapeDtype& type : types) flags.push_back(has_tangent(type));
  return flags;
}

// A root as a function of the guess and of the arrays that the three functions close over. Their
// programs take the closed-over arrays first.
class Root : public std::enable_shared_from_this<Root> {
 public:
  // `solve` maps the guess to the root and auxiliary results. `tangent_solve` maps the root and
  // tangents of what f returns to tangents of the root.
  Root(size_t size, ProgramPtr f, ProgramPtr solve, ProgramPtr tangent_solve)
      : size_(size),
        f_(std::move(f)),
        solve_(std::move(solve)),
        tangent_solve_(std::move(tangent_solve)) {}

  // `inputs`: the guess, then the closed-over arrays.
  std::vector<Array> operator()(std::span<const Array> inputs) const {
    CustomCall call{.name = "custom_root"};
    call.function = [self = shared_from_this()](std::span<const Array> all) {
      return evaluate(*self->solve_,
                      concat<Array>(all.subspan(self->size_), all.first(self->size_)));
    };
    call.jvp = [self = shared_from_this()](std::span<const Array> primals,
                                           std::span<const Array> tangents) {
      return self->differentiate(primals, tangents);
    };
    return call_custom(std::make_shared<const CustomCall>(std::move(call)), inputs);
  }

 private:
  // f(x(c), c) = 0 gives f_x(dx) = -f_c(dc).
  JvpResults differentiate(std::span<const Array> primals, std::span<const Array> tangents) const {
    const std::span<const Array> closed_over = primals.subspan(size_);
    JvpResults results{(*this)(primals), {}};
    results.tangents.resize(results.primals.size());
    const std::span<const Array> x = std::span(results.primals).first(size_);
    const JvpResults moved =
        jvp([&](std::span<const Array> arrays) { return evaluate(*f_, concat<Array>(arrays, x)); },
            closed_over, tangents.subspan(size_));
    if (std::ranges::all_of(moved.tangents, &Array::is_null)) return results;
    std::vector<Array> operands = concat<Array>(closed_over, x);
    for (const Array& tangent :
         detail::instantiated_tangents(moved.tangents, types_of(moved.primals))) {
      if (!tangent.is_null()) operands.push_back(tangent);
    }
    const std::vector<Array> found =
        scatter_arrays(have_tangents(types_of(x)), evaluate(*tangent_solve_, operands));
    for (size_t i = 0; i < size_; ++i) {
      if (!found[i].is_null()) results.tangents[i] = neg(found[i]);
    }
    return results;
  }

  size_t size_;
  ProgramPtr f_, solve_, tangent_solve_;
};

// Records tangent_solve as a function of the root and of the tangents of what f returns. `f` is
// linearized at the root.
Recording record_tangent_solve(const LinearSolver& tangent_solve, const Recording& f,
                               std::span<const ShapeDtype> x_types) {
  const std::vector<bool> varies = have_tangents(x_types);
  const std::vector<ShapeDtype> y_types = f.program->output_types();
  const std::vector<bool> y_varies = have_tangents(y_types);
  const auto solve = [&](std::span<const Array> inputs) {
    const auto x = inputs.first(x_types.size());
    const auto by_x = linearize(control::as_function(f), x, varies).derivative;
    const FlatFunction g = [by_x](std::span<const Array> dx) {
      return detail::instantiated_tangents((*by_x)(dx), by_x->output_types());
    };
    const std::vector<Array> found =
        tangent_solve(g, scatter_arrays(y_varies, inputs.subspan(x_types.size())));
    check_count("tangent_solve", found.size(), x_types.size(), /*may_be_more=*/false);
    std::vector<Array> tangents;
    for (size_t i = 0; i < found.size(); ++i) {
      if (!varies[i]) continue;
      tangents.push_back(instantiate(found[i], x_types[i]));
      check_type("tangent_solve", i, tangents.back().type(), x_types[i], "the root");
    }
    return tangents;
  };
  return record_with_constants(
      solve, concat<ShapeDtype>(x_types, select<ShapeDtype>(y_types, y_varies)), "tangent_solve");
}

}  // namespace

std::vector<Array> custom_root(const FlatFunction& f, std::span<const Array> initial_guess,
                               const RootSolver& solve, const LinearSolver& tangent_solve) {
  const size_t size = initial_guess.size();
  const std::vector<ShapeDtype> guess_types = types_of(initial_guess);
  std::vector<Recording> recordings = {record_with_constants(f, guess_types, "f")};
  check_count("f", recordings[0].program->outputs.size(), size, /*may_be_more=*/false);
  recordings.push_back(record_with_constants(
      [&](std::span<const Array> guess) {
        return solve(control::as_function(recordings[0]), guess);
      },
      guess_types, "solve"));
  std::vector<ShapeDtype> x_types = recordings[1].program->output_types();
  check_count("solve", x_types.size(), size, /*may_be_more=*/true);
  x_types.resize(size);
  for (size_t i = 0; i < size; ++i) {
    check_type("solve", i, x_types[i], guess_types[i], "the initial guess");
  }
  recordings.push_back(record_tangent_solve(tangent_solve, recordings[0], x_types));
  const control::SharedPrograms shared = control::share_captured(recordings);
  const auto root = std::make_shared<const Root>(size, shared.programs[0], shared.programs[1],
                                                 shared.programs[2]);
  return (*root)(concat<Array>(initial_guess, shared.captured));
}

}  // namespace farcall::lax
