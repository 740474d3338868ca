// The derivatives and transposes of elementwise primitives.
#include "ops/elementwise/rules.h"

#include <numbers>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/interpreter.h>

#include "ops/internal/rules.h"

namespace farcall {
namespace {

using namespace lax;
using A = const Array&;

// The tangent of a result r = f(x) from the tangent t of x. Null if the derivative is zero. Factors
// that do not depend on t are computed separately, so that many tangents share them.
using UnaryDerivative = Array (*)(A t, A x, A r);
// The same for r = f(x, y), where t is the tangent of x or of y. x and y have one shape or are
// scalars.
using BinaryDerivative = Array (*)(A t, A x, A y, A r);
// The cotangent of a linear operand from the cotangent of the result. `other` is the other operand,
// null if it is linear too.
using UnaryTranspose = Array (*)(A ct);
using BinaryTranspose = Array (*)(A ct, A other);

struct UnaryRow {
  UnaryDerivative derivative = nullptr;
  UnaryTranspose transpose = nullptr;
};

struct BinaryRow {
  BinaryDerivative by_x = nullptr, by_y = nullptr;
  // Null if the operation is not linear in the operand.
  BinaryTranspose transpose_x = nullptr, transpose_y = nullptr;
  bool is_product = false;  // linear in each operand, but not in both together
};

// ---- helpers for the expressions in the rows ----

constexpr double kPi = std::numbers::pi, kLog2 = std::numbers::ln2, kLog10 = std::numbers::ln10;
constexpr double kInverseSqrtPi = std::numbers::inv_sqrtpi;
constexpr double kNormalDensity = kInverseSqrtPi / std::numbers::sqrt2;  // at zero

Array zero_replaced_by_one(A x) { return select(eq(x, like(x, 0)), like(x, 1), x); }
Array twice(A x) { return mul(x, like(x, 2)); }
Array one_plus(A x) { return add(x, like(x, 1)); }
Array one_minus(A x) { return sub(like(x, 1), x); }

// 1 - x^2. The value is that of (1 - x) (1 + x), which is more accurate near one. The derivatives
// are those of 1 - x^2, because those of the product can become NaN where a factor is zero.
Array one_minus_square(A x) {
  Array factors = mul(one_minus(x), one_plus(x));
  if (is_complex(x.dtype())) return factors;
  const Array difference = one_minus(square(x));
  return add(difference, stop_gradient(sub(factors, difference)));
}

// The derivative of max or min (r) with respect to x: 1, 0, or 1/2 if x and y are equal.
Array share(A x, A y, A r) {
  const Array is_result = select(eq(x, r), like(x, 1), like(x, 0));
  return div(is_result, select(eq(y, r), like(x, 2), like(x, 1)));
}

Array abs_derivative(A t, A x, A r) {
  if (!is_complex(x.dtype())) return select(ge(x, like(x, 0)), t, neg(t));
  const Array length = convert_element_type(zero_replaced_by_one(r), x.dtype());
  return real(mul(t, div(conj(x), length)));
}

// Outside of the bounds exp(-x^2) is 0. x is clamped because the further derivatives would
// otherwise be 0 times infinity there.
Array erf_slope(A x, double scale) {
  const Array inside = clamp(like(x, -40), x, like(x, 40));
  return mul(like(x, scale * 2 * kInverseSqrtPi), exp(neg(square(inside))));
}

// i0e(x) - (sign(x) + 1 / x) i1e(x); 1/2 at zero.
Array bessel_i1e_derivative(A t, A x, A r) {
  const Array is_zero = eq(x, like(x, 0));
  const Array safe = select(is_zero, like(x, 1), x);
  const Array slope = sub(bessel_i0e(x), mul(r, add(sign(x), div(like(x, 1), safe))));
  return mul(t, select(is_zero, like(x, 0.5), slope));
}

// i0(x) - i1(x) / x. Below one, i1(x) / x is computed as its power series, the sum of (x / 2)^(2 k)
// / (2 k! (k + 1)!), because derivatives of the quotient suffer from cancellation there.
Array bessel_i1_derivative(A t, A x, A r) {
  constexpr int kTerms = 12;
  const Array is_far = ge(lax::abs(x), like(x, 1));
  const Array quarter = square(mul(select(is_far, like(x, 0), x), like(x, 0.5)));
  Array series = like(x, 1);
  for (int k = kTerms; k > 0; --k) {  // Horner's scheme over the ratios of terms
    series = add(like(x, 1), mul(series, mul(quarter, like(x, 1.0 / (k * (k + 1.0))))));
  }
  const Array quotient = div(r, select(is_far, x, like(x, 1)));
  return mul(t, sub(bessel_i0(x), select(is_far, quotient, mul(series, like(x, 0.5)))));
}

Array ndtr_slope(A x) {
  const Array inside = clamp(like(x, -40), x, like(x, 40));
  return mul(like(x, kNormalDensity), exp(mul(square(inside), like(x, -0.5))));
}

// The normal density divided by the distribution function. For negative x both are scaled so that
// they do not underflow. For positive x they are not, because the scaled ones would overflow.
Array log_ndtr_slope(A x) {
  const Array is_above = ge(x, like(x, 0));
  const Array above = select(is_above, x, like(x, 0)), below = select(is_above, like(x, 0), x);
  const Array scaled = erfcx(mul(below, like(x, -1 / std::numbers::sqrt2)));
  return select(is_above, div(ndtr_slope(above), ndtr(above)),
                div(like(x, 2 * kNormalDensity), scaled));
}

// Not rsqrt(x^2 - 1), which is on the wrong branch in half of the complex plane.
Array acosh_slope(A x) { return mul(rsqrt(sub(x, like(x, 1))), rsqrt(one_plus(x))); }

[[noreturn]] Array no_derivative(const char* message) {
  throw Error(ErrorCode::kUnimplemented, message);
}

// x^(a - 1) e^-x / Gamma(a)
Array gamma_density(A a, A x) {
  const Array exponent = sub(a, like(a, 1));
  const auto [logarithm, at_zero] = power_in_parts(x, exponent);
  return mul(at_zero, exp(sub(sub(logarithm, x), lgamma(a))));
}

// The derivative of x^y with respect to x is y x^(y - 1). For y = 0 it is 0. At x = 0 this needs a
// special case, because x^(y - 1) is infinite there.
Array pow_by_base(A t, A x, A y) {
  const Array is_constant = bitwise_and(eq(x, like(x, 0)), eq(y, like(y, 0)));
  const Array exponent = sub(select(is_constant, like(y, 1), y), like(y, 1));
  return mul(t, mul(y, pow(x, exponent)));
}

// For the derivatives of atan2, y / (x^2 + y^2) and -x / (x^2 + y^2): scales the vector by a
// length, so that squares neither overflow nor underflow. The length cancels out, so it is treated
// as a constant.
struct Direction {
  Array x, y, square_length;  // x and y divided by `length`; (x^2 + y^2) / `length`
};
Direction direction_of(A x, A y) {
  const Array longest = stop_gradient(max(abs(x), abs(y)));
  const Array is_length = bitwise_and(is_finite(longest), ne(longest, like(x, 0)));
  const Array length = select(is_length, longest, like(x, 1));
  const Array a = div(x, length), b = div(y, length);
  return {a, b, mul(length, add(square(a), square(b)))};
}

Array atan2_slope_by_x(A x, A y) {
  const Direction d = direction_of(x, y);
  return div(d.y, d.square_length);
}
Array atan2_slope_by_y(A x, A y) {
  const Direction d = direction_of(x, y);
  return neg(div(d.x, d.square_length));
}

// The derivative of log(beta(x, y)) with respect to x.
Array betaln_slope(A x, A y) { return sub(digamma(x), digamma(add(x, y))); }

// ---- rules for all rows ----

// Transformation rules with the row that they belong to.
struct RowRules : TransformRules {
  UnaryRow unary = {};
  BinaryRow binary = {};
};
const RowRules& row_of(const Primitive& primitive) {
  return static_cast<const RowRules&>(*primitive.rules);
}

JvpResults unary_jvp(const JvpCall& call) {
  const auto derivative = row_of(call.primitive).unary.derivative;
  const Array r = bind_one(call.primitive, call.params, call.primals);
  if (!derivative) return with_tangent(r, {});
  return with_tangent(r, {derivative(call.tangents[0], call.primals[0], r)});
}

JvpResults binary_jvp(const JvpCall& call) {
  const BinaryRow& row = row_of(call.primitive).binary;
  const Array r = bind_one(call.primitive, call.params, call.primals);
  const auto term = [&](BinaryDerivative derivative, A t) {
    return derivative && !t.is_null() ? derivative(t, call.primals[0], call.primals[1], r)
                                      : Array();
  };
  return with_tangent(r, {term(row.by_x, call.tangents[0]), term(row.by_y, call.tangents[1])});
}

std::vector<Array> unary_transpose(const TransposeCall& call) {
  return {row_of(call.primitive).unary.transpose(call.cotangents[0])};
}

std::vector<Array> binary_transpose(const TransposeCall& call) {
  const BinaryRow& row = row_of(call.primitive).binary;
  const BinaryTranspose transposes[] = {row.transpose_x, row.transpose_y};
  const bool needs_other = row.is_product || !row.transpose_y;
  if (needs_other && call.is_linear(0) && call.is_linear(1)) not_linear(call.primitive);
  std::vector<Array> found(2);
  for (size_t i = 0; i < 2; ++i) {
    if (!call.is_linear(i)) continue;
    if (!transposes[i]) not_linear(call.primitive);
    found[i] = unbroadcast(transposes[i](call.cotangents[0], call.inputs[1 - i]), call.types[i]);
  }
  return found;
}

constexpr RowRules rules_of(const UnaryRow& row) {
  return {{.jvp = unary_jvp,
           .transpose = row.transpose ? unary_transpose : nullptr,
           .batch = batch_elementwise},
          row,
          {}};
}
constexpr RowRules rules_of(const BinaryRow& row) {
  return {{.jvp = binary_jvp,
           .transpose = row.transpose_x ? binary_transpose : nullptr,
           .batch = batch_elementwise},
          {},
          row};
}

// ---- the rows ----

#define UNARY_DERIVATIVE(...)                                                     \
  []([[maybe_unused]] A t, [[maybe_unused]] A x, [[maybe_unused]] A r) -> Array { \
    return __VA_ARGS__;                                                           \
  }
#define BINARY_DERIVATIVE(...)                                         \
  []([[maybe_unused]] A t, [[maybe_unused]] A x, [[maybe_unused]] A y, \
     [[maybe_unused]] A r) -> Array { return __VA_ARGS__; }
#define BINARY_TRANSPOSE(...) \
  []([[maybe_unused]] A ct, [[maybe_unused]] A other) -> Array { return __VA_ARGS__; }

#define ZERO_DERIVATIVE
#define DERIVATIVE(...) .derivative = UNARY_DERIVATIVE(__VA_ARGS__)
#define TRANSPOSE(...) .transpose = [](A ct) -> Array { return __VA_ARGS__; }
#define DERIVATIVE_BY_X(...) .by_x = BINARY_DERIVATIVE(__VA_ARGS__)
#define DERIVATIVES(x_rule, y_rule) \
  .by_x = BINARY_DERIVATIVE(x_rule), .by_y = BINARY_DERIVATIVE(y_rule)
#define TRANSPOSE_BY_X(...) .transpose_x = BINARY_TRANSPOSE(__VA_ARGS__)
#define TRANSPOSES(x_rule, y_rule) \
  .transpose_x = BINARY_TRANSPOSE(x_rule), .transpose_y = BINARY_TRANSPOSE(y_rule)
#define TRANSPOSES_OF_PRODUCT(x_rule, y_rule) TRANSPOSES(x_rule, y_rule), .is_product = true

constexpr RowRules kRowRules[] = {
#define FARCALL_UNARY(function, primitive, kinds, result, domain, summary, ...) \
  rules_of(UnaryRow{__VA_ARGS__}),
#define FARCALL_BINARY(function, primitive, kinds, result, summary, ...) \
  rules_of(BinaryRow{__VA_ARGS__}),
#include <farcall/ops/elementwise_list.h>
};

}  // namespace

const TransformRules& elementwise_rules(size_t row) { return kRowRules[row]; }

}  // namespace farcall
