// farcall::nn. Both branches of each select have finite derivatives, also where the other one is
// chosen.
#include <farcall/nn/activations.h>

#include <numbers>
#include <string_view>
#include <vector>

#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/special_cases.h>

#include "ops/internal/numpy.h"
#include "ops/internal/rules.h"

namespace farcall::nn {
namespace {

using namespace lax;

Array times(const Array& x, double value) { return mul(x, like(x, value)); }

// Widens narrow floats to float32.
Array wide(const Array& x) {
  const bool is_narrow = is_floating(x.dtype()) && dtype_info(x.dtype()).bits < 32;
  return is_narrow ? convert_element_type(x, DType::kFloat32) : strengthen(x);
}
Array like_operand(const Array& operand, const Array& result) {
  return convert_element_type(result, operand.dtype(), operand.type().weak_type());
}

template <class Function>
Array unary(const Array& x, std::string_view name, Function function) {
  const Array a = numpy::promote_inexact(x, name);
  return like_operand(a, function(wide(a)));
}
template <class Function>
Array binary(const Array& x, const Array& y, std::string_view name, Function function) {
  const auto [a, b] = numpy::promote_inexact(x, y, name);
  return like_operand(a, function(wide(a), wide(b)));
}

// x for x > 0, else below(x).
template <class Function>
Array bent(const Array& x, Function below) {
  const Array is_above = gt(x, like(x, 0));
  return select(is_above, x, below(select(is_above, like(x, 0), x)));
}

}  // namespace

Array relu(const Array& x) { return numpy::where(x <= 0, 0, x); }
Array relu6(const Array& x) { return numpy::where(x <= 0, 0, numpy::where(x >= 6, 6.0, x)); }

Array sigmoid(const Array& x) { return logistic(numpy::promote_inexact(x, "sigmoid")); }
Array softplus(const Array& x) {
  return numpy::logaddexp(numpy::promote_inexact(x, "softplus"), 0);
}
Array log_sigmoid(const Array& x) { return -softplus(-numpy::promote_inexact(x, "log_sigmoid")); }

Array leaky_relu(const Array& x, const Array& negative_slope) {
  const Array a = numpy::promote_inexact(x, "leaky_relu");
  return numpy::where(a >= 0, a, negative_slope * a);
}

Array hard_tanh(const Array& x) { return numpy::where(x > 1, 1, numpy::where(x < -1, -1, x)); }
Array hard_sigmoid(const Array& x) {
  return relu6(numpy::promote_inexact(x, "hard_sigmoid") + 3.0) / 6.0;
}
Array hard_silu(const Array& x) {
  const Array a = numpy::promote_inexact(x, "hard_silu");
  return a * hard_sigmoid(a);
}

Array glu(const Array& x, int64_t axis) {
  const std::vector<Array> halves = numpy::split(numpy::promote_inexact(x, "glu"), 2, axis);
  return halves[0] * sigmoid(halves[1]);
}

Array sparse_plus(const Array& x) {
  const Array a = numpy::promote_inexact(x, "sparse_plus");
  const Array inner = numpy::where(a >= 1, a, numpy::power(a + 1, 2) / 4);
  return numpy::where(a <= -1, 0.0, inner);
}
Array sparse_sigmoid(const Array& x) {
  return numpy::clip((numpy::promote_inexact(x, "sparse_sigmoid") + 1) / 2, 0, 1);
}

Array soft_sign(const Array& x) {
  return unary(x, "soft_sign", [](const Array& a) { return div(a, add(abs(a), like(a, 1))); });
}

// The square root is computed like hypot, without overflow or underflow. For negative x, where the
// sum cancels, b / (root - x) is used instead.
Array squareplus(const Array& x, const Array& b) {
  return binary(x, b, "squareplus", [](const Array& a, const Array& offset) {
    const Array size = abs(a), root = sqrt(offset);
    const Array longest = stop_gradient(max(size, root));
    const Array is_length = bitwise_and(is_finite(longest), gt(longest, like(a, 0)));
    const Array unit = select(is_length, longest, like(a, 1));
    const Array part = div(a, unit), other = div(root, unit);
    const Array length = mul(unit, sqrt(add(square(part), square(other))));
    const Array is_below = lt(a, like(a, 0));
    const Array above = add(times(select(is_below, like(a, 0), a), 0.5), times(length, 0.5));
    const Array half_sum = sub(times(length, 0.5), times(a, 0.5));  // the sum may overflow
    const Array divisor = select(is_below, half_sum, like(a, 1));
    return select(is_below, div(times(offset, 0.25), divisor), above);
  });
}

Array silu(const Array& x) {
  return unary(x, "silu", [](const Array& a) { return mul(a, logistic(a)); });
}

Array mish(const Array& x) {
  return unary(x, "mish",
               [](const Array& a) { return mul(a, tanh(numpy::logaddexp(a, like(a, 0)))); });
}

Array gelu(const Array& x, bool approximate) {
  return unary(x, "gelu", [approximate](const Array& a) {
    if (!approximate) return mul(a, ndtr(a));
    // Beyond these bounds tanh is 1 and the cube might overflow. The logistic form 1 + tanh(z) = 2
    // / (1 + exp(-2 z)) keeps precision near 0.
    const Array inside = clamp(like(a, -30), a, like(a, 30));
    const Array cubic = add(inside, times(integer_pow(inside, 3), 0.044715));
    constexpr double kSlope = 2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    return mul(a, logistic(times(cubic, kSlope)));
  });
}

Array elu(const Array& x, const Array& alpha) {
  return binary(x, alpha, "elu", [](const Array& a, const Array& factor) {
    return bent(a, [&](const Array& below) { return mul(factor, expm1(below)); });
  });
}

Array celu(const Array& x, const Array& alpha) {
  return binary(x, alpha, "celu", [](const Array& a, const Array& factor) {
    return bent(a, [&](const Array& below) { return mul(factor, expm1(div(below, factor))); });
  });
}

Array selu(const Array& x) {
  constexpr double kScale = 1.0507009873554804934193349852946;
  constexpr double kAlpha = 1.6732632423543772848170429916717;
  return unary(x, "selu", [](const Array& a) {
    return times(bent(a, [](const Array& below) { return times(expm1(below), kAlpha); }), kScale);
  });
}

Array log1mexp(const Array& x) {
  return unary(x, "log1mexp", [](const Array& a) {
    const Array is_small = lt(a, like(a, std::numbers::ln2));
    const Array small = select(is_small, a, like(a, 1)), large = select(is_small, like(a, 1), a);
    return select(is_small, log(neg(expm1(neg(small)))), log1p(neg(exp(neg(large)))));
  });
}

}  // namespace farcall::nn
