// Exponential integrals and combinatorics with scipy's names (namespace farcall::special; more in
// ops/special_functions.h). Operands are promoted and broadcast as in farcall::numpy; integers
// become floats, and narrow floats are computed in float32.
//
// All raise Error (INVALID_ARGUMENT) naming the function for complex numbers.
#pragma once

#include <cstdint>

#include <farcall/core/export.h>
#include <farcall/trace/array.h>

namespace farcall::special {

// The principal value of the integral of exp(t) / t for t from -infinity to x.
FARCALL_API Array expi(const Array& x);
// The integral of exp(-x t) / t^n for t from 1 to infinity, for whole n >= 0 and x >= 0; NaN for
// others. exp1 is that of n = 1. Differentiable with respect to x.
FARCALL_API Array expn(const Array& n, const Array& x);
FARCALL_API Array exp1(const Array& x);
// The integral of log(t) / (1 - t) for t from 1 to x; NaN below 0.
FARCALL_API Array spence(const Array& x);

// The number of ways to choose k of n; with repetition if `repetition`. 0 outside of 0 <= k <= n.
FARCALL_API Array comb(const Array& n, const Array& k, bool repetition = false);
// z (z + 1) … (z + m - 1), for any m gamma(z + m) / gamma(z).
FARCALL_API Array poch(const Array& z, const Array& m);
// The Bernoulli numbers B_0, …, B_n as default floats. Raises for a negative n.
FARCALL_API Array bernoulli(int64_t n);

}  // namespace farcall::special
