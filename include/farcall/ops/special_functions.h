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

FARCALL_API Array logit(const Array& x);

// ---- the gamma family ----
FARCALL_API Array gammasgn(const Array& x);
// gamma(n + 1), also for fractions; 0 at its poles, the negative integers.
FARCALL_API Array factorial(const Array& n);
FARCALL_API Array multigammaln(const Array& a, int64_t d);
FARCALL_API Array betainc(const Array& a, const Array& b, const Array& x);
FARCALL_API Array zeta(const Array& x, const Array& q);

// ---- entropies ----
FARCALL_API Array rel_entr(const Array& p, const Array& q);
FARCALL_API Array kl_div(const Array& p, const Array& q);

}  // namespace farcall::special
