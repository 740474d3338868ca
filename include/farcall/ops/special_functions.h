// Special functions by scipy's names (namespace farcall::special). Operands are promoted and
// broadcast as those of farcall::numpy; integers become float32.
//
// All raise Error (INVALID_ARGUMENT) naming the function for operands that do not fit, complex ones
// among them but for those of expit and logit.
#pragma once

#include <cstdint>

#include <farcall/core/export.h>
#include <farcall/trace/array.h>

namespace farcall::special {

FARCALL_API Array erf(const Array& x);
FARCALL_API Array erfc(const Array& x);
FARCALL_API Array erfcx(const Array& x);  // exp(x^2) erfc(x)
FARCALL_API Array erfinv(const Array& x);
FARCALL_API Array expit(const Array& x);
FARCALL_API Array logit(const Array& x);

// ---- the gamma family ----
FARCALL_API Array gamma(const Array& x);
FARCALL_API Array gammaln(const Array& x);  // the logarithm of the absolute value
FARCALL_API Array gammasgn(const Array& x);
// gamma(n + 1), also where n is no integer; 0 at its poles, the negative integers.
FARCALL_API Array factorial(const Array& n);
FARCALL_API Array digamma(const Array& x);
FARCALL_API Array polygamma(const Array& n, const Array& x);
FARCALL_API Array gammainc(const Array& a, const Array& x);
FARCALL_API Array gammaincc(const Array& a, const Array& x);
FARCALL_API Array multigammaln(const Array& a, int64_t d);
FARCALL_API Array beta(const Array& a, const Array& b);
FARCALL_API Array betaln(const Array& a, const Array& b);  // the logarithm of the absolute value
FARCALL_API Array betainc(const Array& a, const Array& b, const Array& x);
FARCALL_API Array zeta(const Array& x, const Array& q);

// ---- modified Bessel functions of the first kind; those with an e times exp(-|x|) ----
FARCALL_API Array i0(const Array& x);
FARCALL_API Array i0e(const Array& x);
FARCALL_API Array i1(const Array& x);
FARCALL_API Array i1e(const Array& x);

// ---- entropies ----
FARCALL_API Array rel_entr(const Array& p, const Array& q);
FARCALL_API Array kl_div(const Array& p, const Array& q);

// ---- the normal distribution ----
FARCALL_API Array ndtr(const Array& x);
FARCALL_API Array ndtri(const Array& p);  // NaN outside of [0, 1]
FARCALL_API Array log_ndtr(const Array& x);

}  // namespace farcall::special
