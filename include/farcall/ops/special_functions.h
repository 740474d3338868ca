// Special functions with scipy's names (namespace farcall::special). Operands are promoted and
// broadcast as in farcall::numpy; integers become float32.
//
// All raise Error (INVALID_ARGUMENT) naming the function if the operands do not fit. Only expit and
// logit take complex numbers.
#pragma once

#include <cstdint>

#include <farcall/core/export.h>
#include <farcall/trace/array.h>

namespace farcall::special {

// ---- the operations of elementwise_list.h: erf, gamma, ndtr, the Bessel functions and so on ----
#define FARCALL_SPECIAL_UNARY(name, function, x, ...) FARCALL_API Array name(const Array& x);
#define FARCALL_SPECIAL_BINARY(name, function, x, y, ...) \
  FARCALL_API Array name(const Array& x, const Array& y);
#include <farcall/ops/elementwise_list.h>

// log(x / (1 - x)), the inverse of expit.
FARCALL_API Array logit(const Array& x);

// ---- the gamma family ----
// The sign of the gamma function: 1 or -1; NaN at the negative integers, the sign of x at ±0.
FARCALL_API Array gammasgn(const Array& x);
// gamma(n + 1), also for fractions; 0 at its poles, the negative integers.
FARCALL_API Array factorial(const Array& n);
// The logarithm of the multivariate gamma function of dimension d: log(pi) d (d - 1) / 4 plus the
// sum of gammaln(a - i / 2) for i = 0, …, d - 1. Raises if d is negative.
FARCALL_API Array multigammaln(const Array& a, int64_t d);
// The regularized incomplete beta function; differentiable with respect to x only.
FARCALL_API Array betainc(const Array& a, const Array& b, const Array& x);
// The Hurwitz zeta function, the sum of (q + k)^-x for k = 0, 1, …; differentiable with respect to
// q only.
FARCALL_API Array zeta(const Array& x, const Array& q);

// ---- entropies ----
// p log(p / q) for positive p and q; 0 if p is 0 and q is not negative; else infinite.
FARCALL_API Array rel_entr(const Array& p, const Array& q);
// rel_entr(p, q) - p + q.
FARCALL_API Array kl_div(const Array& p, const Array& q);

}  // namespace farcall::special
