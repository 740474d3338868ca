// custom_root: derivatives of roots by the implicit function theorem.
#include <farcall/ops/roots.h>

#include <memory>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/custom.h>
#include <farcall/trace/custom_rules.h>
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

void check_type(size_t i, ShapeDtype found, ShapeDtype wanted) {
  if (found.strengthened() == wanted.strengthened()) return;
  throw TypeError(fmt::format(
      "custom_root: result {} of tangent_solve must be {}, the type of the root; got {}", i,
      wanted.strengthened().to_string(), found.to_string()));
}

// A root as a function of the guess and of the arrays that f closes over.
class Root : public std::enable_shared_from_this<Root> {
 public:
  Root(ProgramPtr f, size_t size, RootSolver solve, LinearSolver tangent_solve)
      : f_(std::move(f)),
        size_(size),
        solve_(std::move(solve)),
        tangent_solve_(std::move(tangent_solve)) {}

  // `inputs`: the guess, then the closed-over arrays.
  std::vector<Array> operator()(std::span<const Array> inputs) const {
    CustomCall call{.name = "custom_root"};
    call.function = [self = shared_from_this()](std::span<const Array> all) {
      return self->find(all);
    };
    call.jvp = [self = shared_from_this()](std::span<const Array> primals,
                                           std::span<const Array> tangents) {
      return self->differentiate(primals, tangents);
    };
    return call_custom(std::make_shared<const CustomCall>(std::move(call)), inputs);
  }

 private:
  // f as a function of x.
  FlatFunction f_of(std::span<const Array> closed_over) const {
    return [f = f_, kept = std::vector<Array>(closed_over.begin(), closed_over.end())](
               std::span<const Array> x) { return evaluate(*f, concat<Array>(kept, x)); };
  }

  std::vector<Array> find(std::span<const Array> inputs) const {
    std::vector<Array> found = solve_(f_of(inputs.subspan(size_)), inputs.first(size_));
    check_count("solve", found.size(), size_, /*may_be_more=*/true);
    return found;
  }

  // f(x(c), c) = 0 gives f_x(dx) = -f_c(dc).
  JvpResults differentiate(std::span<const Array> primals, std::span<const Array> tangents) const {
    const std::span<const Array> closed_over = primals.subspan(size_);
    JvpResults results{(*this)(primals), {}};
    const std::span<const Array> x = std::span(results.primals).first(size_);
    std::vector<bool> varies;
    for (const Array& array : x) varies.push_back(has_tangent(array.type()));
    const auto by_x = linearize(f_of(closed_over), x, varies).derivative;
    const JvpResults by_closed_over = jvp(
        [&](std::span<const Array> arrays) { return evaluate(*f_, concat<Array>(arrays, x)); },
        closed_over, detail::instantiated_tangents(tangents.subspan(size_), types_of(closed_over)));
    const FlatFunction g = [by_x](std::span<const Array> dx) {
      return detail::instantiated_tangents((*by_x)(dx), by_x->output_types());
    };
    const std::vector<Array> moves = tangent_solve_(
        g,
        detail::instantiated_tangents(by_closed_over.tangents, types_of(by_closed_over.primals)));
    check_count("tangent_solve", moves.size(), size_, /*may_be_more=*/false);
    results.tangents.resize(results.primals.size());
    for (size_t i = 0; i < size_; ++i) {
      if (moves[i].is_null()) continue;
      check_type(i, moves[i].type(), x[i].type());
      results.tangents[i] = neg(moves[i]);
    }
    return results;
  }

  ProgramPtr f_;  // takes the closed-over arrays, then x
  size_t size_;
  RootSolver solve_;
  LinearSolver tangent_solve_;
};

}  // namespace

std::vector<Array> custom_root(const FlatFunction& f, std::span<const Array> initial_guess,
                               RootSolver solve, LinearSolver tangent_solve) {
  const Recording recording = record_with_constants(f, types_of(initial_guess), "f");
  check_count("f", recording.program->outputs.size(), initial_guess.size(), /*may_be_more=*/false);
  const auto root = std::make_shared<Root>(recording.program, initial_guess.size(),
                                           std::move(solve), std::move(tangent_solve));
  return (*root)(concat<Array>(initial_guess, recording.captured));
}

}  // namespace farcall::lax
