// Functions composed of lax primitives whose values and derivatives of all orders avoid overflow:
// numpy's (namespace farcall::numpy) and scipy.special's (namespace farcall::special).
//
// Operands are promoted to floats and broadcast against each other. All raise Error
// (INVALID_ARGUMENT) naming the function if the operands do not fit.
#pragma once

#include <farcall/core/export.h>
#include <farcall/trace/array.h>

namespace farcall::numpy {

// sqrt(x^2 + y^2) of real numbers. Infinite if x or y is.
FARCALL_API Array hypot(const Array& x, const Array& y);
// log(exp(x) + exp(y)) and log2(2^x + 2^y).
FARCALL_API Array logaddexp(const Array& x, const Array& y);
FARCALL_API Array logaddexp2(const Array& x, const Array& y);
// sin(pi x) / (pi x), 1 at zero.
FARCALL_API Array sinc(const Array& x);

}  // namespace farcall::numpy

namespace farcall::special {

// x log(y) and x log(1 + y); 0 if x is 0, unless y is NaN.
FARCALL_API Array xlogy(const Array& x, const Array& y);
FARCALL_API Array xlog1py(const Array& x, const Array& y);
// -x log(x), 0 at zero, minus infinity below.
FARCALL_API Array entr(const Array& x);
// (x^p - 1) / p, or log(x) if p is 0; boxcox1p is the same of 1 + x.
FARCALL_API Array boxcox(const Array& x, const Array& p);
FARCALL_API Array boxcox1p(const Array& x, const Array& p);

}  // namespace farcall::special
