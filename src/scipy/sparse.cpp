#include <farcall/scipy/sparse.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/precision.h>
#include <farcall/core/type_text.h>
#include <farcall/linalg/linalg.h>
#include <farcall/numpy/products.h>
#include <farcall/ops/control_flow.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/linear_functions.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/numpy_indexing.h>
#include <farcall/scipy/linalg.h>

#include "linalg/internal/arrays.h"
#include "linalg/internal/epsilon.h"

namespace farcall::scipy::sparse::linalg {
namespace {

using Vector = std::vector<Array>;
using VectorView = std::span<const Array>;

// ---- vectors ----

Vector combined(VectorView x, VectorView y,
                const std::function<Array(const Array& x, const Array& y)>& combine) {
  Vector all;
  for (size_t i = 0; i < x.size(); ++i) all.push_back(combine(x[i], y[i]));
  return all;
}
// x + factor y
Vector plus(VectorView x, const Array& factor, VectorView y) {
  return combined(x, y, [&](const Array& a, const Array& b) { return a + factor * b; });
}
Vector minus(VectorView x, const Array& factor, VectorView y) {
  return combined(x, y, [&](const Array& a, const Array& b) { return a - factor * b; });
}
Vector minus(VectorView x, VectorView y) { return combined(x, y, numpy::subtract); }
Vector chosen(const Array& condition, VectorView x, VectorView y) {
  return combined(x, y,
                  [&](const Array& a, const Array& b) { return numpy::where(condition, a, b); });
}

// The sum of conj(x) y.
Array product(VectorView x, VectorView y) {
  const PrecisionScope scope(Precision::kHighest);
  Array sum = numpy::vdot(x[0], y[0]);
  for (size_t i = 1; i < x.size(); ++i) sum = sum + numpy::vdot(x[i], y[i]);
  return sum;
}
// Its real part.
Array real_product(VectorView x, VectorView y) {
  Vector left, right;
  for (size_t i = 0; i < x.size(); ++i) {
    const bool has_parts = is_complex(x[i].dtype()) || is_complex(y[i].dtype());
    for (const auto part : {numpy::real, numpy::imag}) {
      left.push_back(part(x[i]));
      right.push_back(part(y[i]));
      if (!has_parts) break;
    }
  }
  return product(left, right);
}
Array norm(VectorView x) { return numpy::sqrt(real_product(x, x)); }

// x / norm(x) and the norm; zeros and 0 if the norm is at most `threshold`.
struct Normalized {
  Vector x;
  Array norm;
};
Normalized normalized(VectorView x, const Array& threshold) {
  const Array length = norm(x), is_long = numpy::greater(length, threshold);
  Vector unit;
  for (const Array& part : x) unit.push_back(numpy::where(is_long, part / length, 0));
  return {std::move(unit), numpy::where(is_long, length, 0)};
}
double epsilon_of(VectorView x) { return farcall::linalg::epsilon(x[0].dtype()); }
Normalized normalized(VectorView x) { return normalized(x, epsilon_of(x)); }

// ---- systems ----

Array squared_tolerance(VectorView b, const IterationOptions& options) {
  return numpy::maximum(numpy::square(options.tol) * real_product(b, b),
                        numpy::square(options.atol));
}

void check_types(const char* function, const char* what, VectorView found, VectorView b) {
  const auto fits = [](const Array& x, const Array& y) {
    return std::ranges::equal(x.shape(), y.shape()) &&
           (x.dtype() == y.dtype() || x.type().weak_type());
  };
  if (std::ranges::equal(found, b, fits)) return;
  invalid_argument(fmt::format("{}: {} must have the types of b, ({}), got ({})", function, what,
                               types_to_string(types_of(b)), types_to_string(types_of(found))));
}

// Fills in the options of a call, and checks it.
template <class Options>
Options completed(const char* function, VectorView b, Options options) {
  for (const Array& part : b) {
    const bool is_inexact = is_floating(part.dtype()) || is_complex(part.dtype());
    if (is_inexact && part.dtype() == b[0].dtype()) continue;
    throw TypeError(fmt::format(
        "{}: b must be of one floating-point or complex dtype, got ({}); convert it with astype",
        function, types_to_string(types_of(b))));
  }
  if (options.start.empty()) {
    for (const Array& part : b) options.start.push_back(numpy::zeros_like(part));
  }
  check_types(function, "x0", options.start, b);
  if (!options.max_iterations) {
    int64_t size = 0;
    for (const Array& part : b) size += part.size();
    options.max_iterations = 10 * size;
  }
  if (options.preconditioner) {
    options.preconditioner = [function, given = options.preconditioner](VectorView x) {
      Vector found = given(x);
      check_types(function, "what M returns", found, x);
      return found;
    };
  } else {
    options.preconditioner = [](VectorView x) { return Vector(x.begin(), x.end()); };
  }
  return options;
}

// ---- conjugate gradients ----

Vector solve_cg(const FlatFunction& a, VectorView b, const IterationOptions& options) {
  const Array tolerance = squared_tolerance(b, options);
  const size_t n = b.size();
  const DType dtype = b[0].dtype();
  const auto as_factor = [&](const Array& x) { return numpy::astype(x, dtype); };
  // The state: x, the residual r, the direction p; the product of r with the preconditioned
  // residual; the number of iterations.
  const auto goes_on = [&](VectorView state) {
    const VectorView r = state.subspan(n, n);
    return Vector{numpy::logical_and(numpy::greater(real_product(r, r), tolerance),
                                     numpy::less(state[3 * n + 1], *options.max_iterations))};
  };
  const auto step = [&](VectorView state) {
    const VectorView p = state.subspan(2 * n, n);
    const Array& gamma = state[3 * n];
    const Vector moved = a(p);
    const Array alpha = gamma / as_factor(real_product(p, moved));
    Vector next = plus(state.first(n), alpha, p);
    const Vector r = minus(state.subspan(n, n), alpha, moved);
    const Vector z = options.preconditioner(r);
    const Array next_gamma = as_factor(real_product(r, z));
    const Vector direction = plus(z, next_gamma / gamma, p);
    next.insert(next.end(), r.begin(), r.end());
    next.insert(next.end(), direction.begin(), direction.end());
    next.push_back(next_gamma);
    next.push_back(state[3 * n + 1] + 1);
    return next;
  };
  const Vector r = minus(b, a(options.start)), z = options.preconditioner(r);
  Vector state = options.start;
  state.insert(state.end(), r.begin(), r.end());
  state.insert(state.end(), z.begin(), z.end());
  state.push_back(as_factor(real_product(r, z)));
  state.push_back(0);
  state = lax::while_loop(goes_on, step, state);
  state.resize(n);
  return state;
}

// ---- stabilized biconjugate gradients ----

// The state of bicgstab as a list for a loop.
struct BicgState {
  Vector x, r, p, q;
  Array alpha, omega, rho, steps;  // steps < 0: the method broke down

  static BicgState of(VectorView all, size_t n) {
    const auto part = [&](size_t i) { return Vector(&all[i * n], &all[i * n] + n); };
    return {part(0),    part(1),        part(2),        part(3),
            all[4 * n], all[4 * n + 1], all[4 * n + 2], all[4 * n + 3]};
  }
  Vector all() const {
    Vector list;
    for (const Vector* part : {&x, &r, &p, &q}) list.insert(list.end(), part->begin(), part->end());
    list.insert(list.end(), {alpha, omega, rho, steps});
    return list;
  }
};

BicgState bicg_step(const FlatFunction& a, const FlatFunction& preconditioner, VectorView shadow,
                    const Array& tolerance, const BicgState& state) {
  const Array rho = product(shadow, state.r);
  const Array beta = rho / state.rho * state.alpha / state.omega;
  const Vector p = plus(state.r, beta, minus(state.p, state.omega, state.q));
  const Vector p_hat = preconditioner(p), q = a(p_hat);
  const Array alpha = rho / product(shadow, q);
  const Vector s = minus(state.r, alpha, q);
  const Array is_done = numpy::less(real_product(s, s), tolerance);
  const Vector s_hat = preconditioner(s), t = a(s_hat);
  const Array omega = product(t, s) / product(t, t);
  const Vector half = plus(state.x, alpha, p_hat);
  const auto is_zero = [](const Array& x) { return numpy::equal(x, 0); };
  const Array fails =
      numpy::logical_or(is_zero(rho), numpy::logical_or(is_zero(omega), is_zero(alpha)));
  return {.x = chosen(is_done, half, plus(half, omega, s_hat)),
          .r = chosen(is_done, s, minus(s, omega, t)),
          .p = p,
          .q = q,
          .alpha = alpha,
          .omega = omega,
          .rho = rho,
          .steps = numpy::where(fails, -1, state.steps + 1)};
}

Vector solve_bicgstab(const FlatFunction& a, VectorView b, const IterationOptions& options) {
  const Array tolerance = squared_tolerance(b, options);
  const size_t n = b.size();
  const auto goes_on = [&](VectorView all) {
    const BicgState state = BicgState::of(all, n);
    const Array may = numpy::logical_and(numpy::less(state.steps, *options.max_iterations),
                                         numpy::greater_equal(state.steps, 0));
    return Vector{
        numpy::logical_and(numpy::greater(real_product(state.r, state.r), tolerance), may)};
  };
  const Vector r = minus(b, a(options.start));
  const auto step = [&](VectorView all) {
    return bicg_step(a, options.preconditioner, r, tolerance, BicgState::of(all, n)).all();
  };
  const Array one = numpy::ones({}, b[0].dtype());
  const BicgState start = {options.start, r, r, r, one, one, one, 0};
  return BicgState::of(lax::while_loop(goes_on, step, start.all()), n).x;
}

// ---- generalized minimal residuals ----

// The vectors of a Krylov space, as rows: a matrix for each array of a vector.
Vector row_of(VectorView space, const Array& k, VectorView like) {
  return combined(space, like, [&](const Array& rows, const Array& x) {
    return numpy::reshape(numpy::take(rows, {k}), x.shape());
  });
}
Array with_row(const Array& matrix, const Array& k, const Array& row) {
  return numpy::update(matrix, {k}, row, numpy::Update::kSet);
}
// The sum of the rows times the coefficients.
Vector weighted_rows(VectorView space, const Array& coefficients, VectorView like) {
  const PrecisionScope scope(Precision::kHighest);
  return combined(space, like, [&](const Array& rows, const Array& x) {
    return numpy::reshape(numpy::matmul(coefficients, rows), x.shape());
  });
}

// One residual, and what its restarts share.
struct Gmres {
  const FlatFunction& a;
  VectorView b;
  const GmresOptions& options;
  int64_t size;     // of the Krylov space
  Array tolerance;  // of a preconditioned residual in a restart

  Vector residual(VectorView x) const { return options.preconditioner(minus(b, a(x))); }
  DType dtype() const { return b[0].dtype(); }
  Array as_number(const Array& x) const { return numpy::astype(x, dtype()); }

  // The first vector of a space with room for the others.
  Vector first_vector(VectorView unit) const {
    Vector space;
    for (const Array& x : unit) {
      const Array row = numpy::reshape(x, {1, x.size()});
      space.push_back(numpy::concatenate({row, numpy::zeros({size, x.size()}, x.dtype())}));
    }
    return space;
  }
  Array first_unit(const Array& length) const {
    return with_row(numpy::zeros({size + 1}, dtype()), 0, as_number(length));
  }

  // Arnoldi's step k: vector k + 1 of the space, orthogonal to the others, and its coefficients.
  struct Step {
    Vector space;
    Array row;
    Array breaks_down;
  };
  Step arnoldi(const Array& k, VectorView space) const {
    Vector v = options.preconditioner(a(row_of(space, k, b)));
    const Array length = normalized(v).norm;
    Array row;
    for (size_t i = 0; i < v.size(); ++i) {
      const PrecisionScope scope(Precision::kHighest);
      const Array flat = numpy::reshape(v[i], {v[i].size()});
      const Array part = numpy::matmul(numpy::conjugate(space[i]), flat);
      row = i == 0 ? part : row + part;
    }
    v = minus(v, weighted_rows(space, row, b));
    const Normalized next = normalized(v, epsilon_of(b) * length);
    Vector longer = combined(space, next.x, [&](const Array& rows, const Array& x) {
      return with_row(rows, k + 1, numpy::reshape(x, {x.size()}));
    });
    return {std::move(longer), with_row(row, k + 1, as_number(next.norm)),
            numpy::equal(next.norm, 0)};
  }

  // The coefficients that minimize the residual, by the normal equations at the end.
  std::pair<Vector, Array> minimize_at_end(const Normalized& start) const {
    const size_t n = b.size();
    // The state: the space, the matrix of coefficients, whether it broke down, the step.
    const auto goes_on = [&](VectorView state) {
      return Vector{
          numpy::logical_and(numpy::less(state[n + 2], size), numpy::logical_not(state[n + 1]))};
    };
    const auto extend = [&](VectorView state) {
      const Array& k = state[n + 2];
      const Step step = arnoldi(k, state.first(n));
      Vector next = step.space;
      next.insert(next.end(), {with_row(state[n], k, step.row), step.breaks_down, k + 1});
      return next;
    };
    Vector state = first_vector(start.x);
    state.insert(state.end(), {numpy::eye(size, size + 1, dtype()), false, 0});
    state = lax::while_loop(goes_on, extend, state);
    const PrecisionScope scope(Precision::kHighest);
    const Array adjoint = numpy::conjugate(state[n]);
    const Array normal = numpy::matmul(adjoint, numpy::swapaxes(state[n], 0, 1));
    const Array right = numpy::matmul(adjoint, first_unit(start.norm));
    const Array factor = farcall::linalg::cholesky(normal);
    const Array coefficients = scipy::linalg::cho_solve(factor, /*lower=*/true, right);
    state.resize(n);
    return {std::move(state), coefficients};
  }

  std::pair<Vector, Array> minimize_by_rotations(const Normalized& start) const;

  // The solution after a restart, and its residual.
  std::pair<Vector, Normalized> restarted(VectorView x, const Normalized& start) const {
    const auto [space, coefficients] =
        options.is_incremental ? minimize_by_rotations(start) : minimize_at_end(start);
    Vector kept;
    for (const Array& rows : space) kept.push_back(farcall::linalg::row_block(rows, 0, size));
    Vector next = combined(x, weighted_rows(kept, coefficients, b), numpy::add);
    Normalized left = normalized(residual(next));
    return {std::move(next), std::move(left)};
  }
};

// Elements k and k + 1 of a vector, rotated.
struct Rotation {
  Array cosine, sine;

  // The one that makes y zero.
  static Rotation of(const Array& x, const Array& y) {
    const Array is_less = numpy::less(numpy::absolute(x), numpy::absolute(y));
    const Array ratio = -numpy::where(is_less, x, y) / numpy::where(is_less, y, x);
    const Array modulus = numpy::absolute(ratio);
    const Array scale = numpy::astype(lax::rsqrt(1 + modulus * modulus), ratio.dtype());
    const Array nothing = numpy::equal(y, 0);
    return {numpy::where(nothing, 1, numpy::where(is_less, scale * ratio, scale)),
            numpy::where(nothing, 0, numpy::where(is_less, scale, scale * ratio))};
  }
  Array operator()(const Array& vector, const Array& k) const {
    const Array x = numpy::take(vector, {k}), y = numpy::take(vector, {k + 1});
    const Array first = numpy::conjugate(cosine) * x - numpy::conjugate(sine) * y;
    return with_row(with_row(vector, k, first), k + 1, sine * x + cosine * y);
  }
};

// A QR factorization that each step extends by a rotation; the last element of the rotated
// right-hand side is the residual.
std::pair<Vector, Array> Gmres::minimize_by_rotations(const Normalized& start) const {
  const size_t n = b.size();
  // The state: the space, the triangular factor, the rotations, the right-hand side, the norm of
  // the residual, the step.
  const auto goes_on = [&](VectorView state) {
    return Vector{numpy::logical_and(numpy::less(state[n + 4], size),
                                     numpy::greater(state[n + 3], tolerance))};
  };
  const auto extend = [&](VectorView state) {
    const Array &rotations = state[n + 1], &k = state[n + 4];
    const Step step = arnoldi(k, state.first(n));
    const auto rotate = [&](const Array& i, VectorView row) {
      const Array known = numpy::take(rotations, {i});
      return Vector{Rotation{known[0], known[1]}(row[0], i)};
    };
    const Array row = lax::fori_loop(0, k, rotate, {&step.row, 1})[0];
    const Rotation last = Rotation::of(numpy::take(row, {k}), numpy::take(row, {k + 1}));
    const Array right = last(state[n + 2], k);
    Vector next = step.space;
    next.insert(next.end(), {with_row(state[n], k, last(row, k)),
                             with_row(rotations, k, numpy::stack({last.cosine, last.sine})), right,
                             numpy::absolute(numpy::take(right, {k + 1})), k + 1});
    return next;
  };
  Vector state = first_vector(start.x);
  state.insert(state.end(), {numpy::eye(size, size + 1, dtype()), numpy::zeros({size, 2}, dtype()),
                             first_unit(start.norm), start.norm, 0});
  state = lax::while_loop(goes_on, extend, state);
  // The rows of steps that were not taken are those of the identity.
  const Array was_taken = numpy::less(lax::iota(DType::kInt32, {size}, 0), state[n + 4]);
  const Array right =
      numpy::where(was_taken, numpy::take(state[n + 2], {numpy::Slice{0, size}}), 0);
  const Array triangle = farcall::linalg::column_block(state[n], 0, size);
  const Array coefficients =
      scipy::linalg::solve_triangular(numpy::swapaxes(triangle, 0, 1), right);
  state.resize(n);
  return {std::move(state), coefficients};
}

Vector solve_gmres(const Gmres& method, const Array& tolerance) {
  const size_t n = method.b.size();
  // The state: x, the direction of the residual and its norm, the number of restarts.
  const auto state_of = [](const Vector& x, const Normalized& residual, const Array& count) {
    Vector state = x;
    state.insert(state.end(), residual.x.begin(), residual.x.end());
    state.insert(state.end(), {residual.norm, count});
    return state;
  };
  const auto goes_on = [&](VectorView state) {
    return Vector{numpy::logical_and(numpy::less(state[2 * n + 1], *method.options.max_iterations),
                                     numpy::greater(state[2 * n], tolerance))};
  };
  const auto restart = [&](VectorView state) {
    const VectorView unit = state.subspan(n, n);
    const auto [x, residual] =
        method.restarted(state.first(n), {Vector(unit.begin(), unit.end()), state[2 * n]});
    return state_of(x, residual, state[2 * n + 1] + 1);
  };
  const Normalized residual = normalized(method.residual(method.options.start));
  Vector state = lax::while_loop(goes_on, restart, state_of(method.options.start, residual, 0));
  state.resize(n);
  return state;
}

using Method = Vector (*)(const FlatFunction& a, VectorView b, const IterationOptions& options);

// Hermitian matrices of real numbers are their own transposes.
Vector solve_with(Method method, const FlatFunction& a, VectorView b,
                  const IterationOptions& options, bool is_hermitian) {
  if (b.empty()) return {};
  const lax::LinearSolver solve = [&](const FlatFunction& function, VectorView right) {
    return method(function, right, options);
  };
  const bool is_symmetric = is_hermitian && !is_complex(b[0].dtype());
  return lax::custom_linear_solve(a, b, solve,
                                  {.transpose_solve = solve, .is_symmetric = is_symmetric});
}

}  // namespace

Vector cg(const FlatFunction& a, VectorView b, const IterationOptions& options) {
  return solve_with(solve_cg, a, b, completed("cg", b, options), /*is_hermitian=*/true);
}

Vector bicgstab(const FlatFunction& a, VectorView b, const IterationOptions& options) {
  return solve_with(solve_bicgstab, a, b, completed("bicgstab", b, options),
                    /*is_hermitian=*/false);
}

Vector gmres(const FlatFunction& a, VectorView b, const GmresOptions& given) {
  if (given.restart < 1) {
    invalid_argument(fmt::format("gmres: restart must be at least 1, got {}", given.restart));
  }
  if (b.empty()) return {};
  const GmresOptions options = completed("gmres", b, given);
  int64_t size = 0;
  Vector constant;
  for (const Array& part : b) {
    size += part.size();
    constant.push_back(lax::stop_gradient(part));
  }
  size = std::min(options.restart, size);
  if (size == 0) return {b.begin(), b.end()};
  const Array length = norm(constant);
  const Array tolerance = numpy::maximum(options.tol * length, options.atol);
  const Array inner =
      norm(options.preconditioner(constant)) * numpy::minimum(1.0, tolerance / length);
  const lax::LinearSolver solve = [&](const FlatFunction& function, VectorView right) {
    return solve_gmres({function, right, options, size, inner}, tolerance);
  };
  return lax::custom_linear_solve(a, b, solve, {.transpose_solve = solve});
}

}  // namespace farcall::scipy::sparse::linalg
