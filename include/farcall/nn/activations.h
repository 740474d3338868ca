// Activation functions (namespace farcall::nn), elementwise. Operands are promoted and broadcast as
// in farcall::numpy; integers become float32. Narrow floats are computed in float32.
//
// All raise Error (INVALID_ARGUMENT) naming the function if the operands do not fit.
#pragma once

#include <cstdint>

#include <farcall/core/export.h>
#include <farcall/trace/array.h>

namespace farcall::nn {

FARCALL_API Array relu(const Array& x);   // max(x, 0); keeps the dtype
FARCALL_API Array relu6(const Array& x);  // min(relu(x), 6)
FARCALL_API Array sigmoid(const Array& x);
FARCALL_API Array log_sigmoid(const Array& x);
FARCALL_API Array softplus(const Array& x);  // log(1 + exp(x))
FARCALL_API Array leaky_relu(const Array& x, const Array& negative_slope = 1e-2);
FARCALL_API Array hard_tanh(const Array& x);     // x clamped to [-1, 1]
FARCALL_API Array hard_sigmoid(const Array& x);  // relu6(x + 3) / 6
FARCALL_API Array hard_silu(const Array& x);     // x hard_sigmoid(x)
// The first half along the axis times the sigmoid of the second half.
FARCALL_API Array glu(const Array& x, int64_t axis = -1);
FARCALL_API Array sparse_plus(const Array& x);     // 0 below -1, x above 1, a parabola in between
FARCALL_API Array sparse_sigmoid(const Array& x);  // the derivative of sparse_plus
FARCALL_API Array soft_sign(const Array& x);       // x / (|x| + 1)
FARCALL_API Array squareplus(const Array& x, const Array& b = 4.0);  // (x + sqrt(x^2 + b)) / 2
FARCALL_API Array silu(const Array& x);                              // x / (1 + exp(-x))
FARCALL_API Array mish(const Array& x);                              // x tanh(log(1 + exp(x)))
// x times the normal cumulative distribution at x, or a tanh approximation of it if `approximate`.
FARCALL_API Array gelu(const Array& x, bool approximate = true);
// x for x > 0, else alpha (exp(x) - 1) for elu, alpha (exp(x / alpha) - 1) for celu.
FARCALL_API Array elu(const Array& x, const Array& alpha = 1.0);
FARCALL_API Array celu(const Array& x, const Array& alpha = 1.0);
FARCALL_API Array selu(const Array& x);      // a scaled elu that keeps mean 0 and variance 1
FARCALL_API Array log1mexp(const Array& x);  // log(1 - exp(-x)) for x > 0

}  // namespace farcall::nn
