// Activation functions (namespace farcall::nn), elementwise. Operands are promoted and broadcast as
// those of farcall::numpy; integers become float32. Narrow floats are computed in float32.
//
// All raise Error (INVALID_ARGUMENT) naming the function for operands that do not fit.
#pragma once

#include <farcall/core/export.h>
#include <farcall/trace/array.h>

namespace farcall::nn {

FARCALL_API Array soft_sign(const Array& x);                         // x / (|x| + 1)
FARCALL_API Array squareplus(const Array& x, const Array& b = 4.0);  // (x + sqrt(x^2 + b)) / 2
FARCALL_API Array silu(const Array& x);                              // x / (1 + exp(-x))
FARCALL_API Array mish(const Array& x);                              // x tanh(log(1 + exp(x)))
// x times the normal distribution up to x; with tanh in its place if `approximate`.
FARCALL_API Array gelu(const Array& x, bool approximate = true);
// x above zero, else alpha (exp(x) - 1), or alpha (exp(x / alpha) - 1).
FARCALL_API Array elu(const Array& x, const Array& alpha = 1.0);
FARCALL_API Array celu(const Array& x, const Array& alpha = 1.0);
FARCALL_API Array selu(const Array& x);      // a scaled elu that keeps mean 0 and variance 1
FARCALL_API Array log1mexp(const Array& x);  // log(1 - exp(-x)) for x > 0

}  // namespace farcall::nn
