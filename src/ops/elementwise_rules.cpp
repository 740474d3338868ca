// The derivatives and transposes of elementwise primitives.
#include "ops/elementwise_rules.h"

#include <algorithm>
#include <array>
#include <numbers>
#include <span>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/interpreter.h>

#include "ops/rules_support.h"

namespace farcall {
namespace {

using namespace lax;
using A = const Array&;

// The tangent of a result r = f(x) from the tangent t of x. Null where the derivative is zero. What
// does not depend on t stands apart from it, so that it is computed once for many tangents.
using UnaryDerivative = Array (*)(A t, A x, A r);
// The same for r = f(x, y), t being the tangent of one of them. Both are scalars or of one shape.
using BinaryDerivative = Array (*)(A t, A x, A y, A r);
// The cotangent of a linear operand from the result's; `other` is the other operand, null if it is
// linear too.
using UnaryTranspose = Array (*)(A ct);
using BinaryTranspose = Array (*)(A ct, A other);

struct UnaryRow {
  std::string_view name;
  UnaryDerivative derivative = nullptr;
  UnaryTranspose transpose = nullptr;
};

struct BinaryRow {
  std::string_view name;
  BinaryDerivative by_x = nullptr, by_y = nullptr;
  // Null where the operation is not linear in the operand.
  BinaryTranspose transpose_x = nullptr, transpose_y = nullptr;
};

Array like(A x, double value) { return scalar_of(x.dtype(), value); }
Array select(A which, A if_false, A if_true) {
  return select_n(which, std::array{if_false, if_true});
}
Array zero_replaced_by_one(A x) { return select(eq(x, like(x, 0)), x, like(x, 1)); }
Array twice(A x) { return mul(x, like(x, 2)); }
Array one_plus(A x) { return add(x, like(x, 1)); }
Array one_minus(A x) { return sub(like(x, 1), x); }

// 1 - x^2. Near one the product of its factors has more digits, but its derivatives divide a zero
// by a zero where a factor is zero.
Array one_minus_square(A x) {
  Array factors = mul(one_minus(x), one_plus(x));
  if (is_complex(x.dtype())) return factors;
  const Array difference = one_minus(square(x));
  return add(difference, stop_gradient(sub(factors, difference)));
}

// The share of x in the derivative of the greater, or the lesser, of x and y: all, none, or half
// where they are equal.
Array share(A x, A y, A r) {
  const Array is_result = select(eq(x, r), like(x, 0), like(x, 1));
  return div(is_result, select(eq(y, r), like(x, 1), like(x, 2)));
}

Array abs_derivative(A t, A x, A r) {
  if (!is_complex(x.dtype())) return select(ge(x, like(x, 0)), neg(t), t);
  const Array length = convert_element_type(zero_replaced_by_one(r), x.dtype());
  return real(mul(t, div(conj(x), length)));
}

// Outside of the bounds the exponential is 0. Its derivatives are too, and not 0 times an infinite
// square.
Array erf_slope(A x, double scale) {
  const Array inside = clamp(like(x, -40), x, like(x, 40));
  return mul(like(x, scale * 2 * std::numbers::inv_sqrtpi), exp(neg(square(inside))));
}

// i0e(x) - (sign(x) + 1 / x) i1e(x); a half at zero.
Array bessel_i1e_derivative(A t, A x, A r) {
  const Array is_zero = eq(x, like(x, 0));
  const Array safe = select(is_zero, x, like(x, 1));
  const Array slope = sub(bessel_i0e(x), mul(r, add(sign(x), div(like(x, 1), safe))));
  return mul(t, select(is_zero, slope, like(x, 0.5)));
}

// i0(x) - i1(x) / x. Below one the quotient is its power series, the sum of
// (x / 2)^(2 k) / (2 k! (k + 1)!): the quotient's own derivatives cancel there.
Array bessel_i1_derivative(A t, A x, A r) {
  constexpr int kTerms = 12;
  const Array is_far = ge(lax::abs(x), like(x, 1));
  const Array quarter = square(mul(select(is_far, x, like(x, 0)), like(x, 0.5)));
  Array series = like(x, 1);
  for (int k = kTerms; k > 0; --k) {  // Horner's scheme over the ratios of terms
    series = add(like(x, 1), mul(series, mul(quarter, like(x, 1.0 / (k * (k + 1.0))))));
  }
  const Array quotient = div(r, select(is_far, like(x, 1), x));
  return mul(t, sub(bessel_i0(x), select(is_far, mul(series, like(x, 0.5)), quotient)));
}

constexpr double kDensityOfNormal = std::numbers::inv_sqrtpi / std::numbers::sqrt2;

constexpr UnaryRow kUnary[] = {
    {"neg", [](A t, A, A) { return neg(t); }, neg},
    {"abs", abs_derivative},
    {"sign"},
    {"floor"},
    {"ceil"},
    {"is_finite"},
    {"not"},
    {"exp", [](A t, A, A r) { return mul(t, r); }},
    {"exp2", [](A t, A, A r) { return mul(t, mul(r, like(r, std::numbers::ln2))); }},
    {"expm1", [](A t, A, A r) { return mul(t, one_plus(r)); }},
    {"log", [](A t, A x, A) { return div(t, x); }},
    {"log2", [](A t, A x, A) { return div(t, mul(x, like(x, std::numbers::ln2))); }},
    {"log10", [](A t, A x, A) { return div(t, mul(x, like(x, std::numbers::ln10))); }},
    {"log1p", [](A t, A x, A) { return div(t, one_plus(x)); }},
    {"sqrt", [](A t, A, A r) { return mul(t, div(like(r, 0.5), r)); }},
    {"rsqrt", [](A t, A x, A r) { return mul(t, mul(like(r, -0.5), div(r, x))); }},
    {"cbrt", [](A t, A, A r) { return mul(t, mul(like(r, 1.0 / 3), integer_pow(r, -2))); }},
    {"sin", [](A t, A x, A) { return mul(t, cos(x)); }},
    {"cos", [](A t, A x, A) { return mul(t, neg(sin(x))); }},
    {"tan", [](A t, A, A r) { return mul(t, one_plus(square(r))); }},
    {"asin", [](A t, A x, A) { return mul(t, rsqrt(one_minus_square(x))); }},
    {"acos", [](A t, A x, A) { return mul(t, neg(rsqrt(one_minus_square(x)))); }},
    {"atan", [](A t, A x, A) { return div(t, one_plus(square(x))); }},
    {"sinh", [](A t, A x, A) { return mul(t, cosh(x)); }},
    {"cosh", [](A t, A x, A) { return mul(t, sinh(x)); }},
    {"tanh", [](A t, A, A r) { return mul(t, mul(one_plus(r), one_minus(r))); }},
    {"asinh", [](A t, A x, A) { return mul(t, rsqrt(one_plus(square(x)))); }},
    // Not rsqrt(x² - 1), which for complex x lies on the wrong branch in half of the plane.
    {"acosh",
     [](A t, A x, A) { return mul(t, mul(rsqrt(sub(x, like(x, 1))), rsqrt(one_plus(x)))); }},
    {"atanh", [](A t, A x, A) { return div(t, one_minus_square(x)); }},
    {"logistic", [](A t, A, A r) { return mul(t, mul(r, one_minus(r))); }},
    {"erf", [](A t, A x, A) { return mul(t, erf_slope(x, 1)); }},
    {"erfc", [](A t, A x, A) { return mul(t, erf_slope(x, -1)); }},
    {"erf_inv",
     [](A t, A, A r) {
       return mul(t, mul(like(r, 0.5 / std::numbers::inv_sqrtpi), exp(square(r))));
     }},
    {"erfcx",
     [](A t, A x, A r) {
       return mul(t, sub(mul(twice(x), r), like(x, 2 * std::numbers::inv_sqrtpi)));
     }},
    {"ndtr",
     [](A t, A x, A) {
       const Array inside = clamp(like(x, -40), x, like(x, 40));
       return mul(t, mul(like(x, kDensityOfNormal), exp(mul(square(inside), like(x, -0.5)))));
     }},
    // The density over the distribution, both times what keeps them from vanishing.
    {"log_ndtr",
     [](A t, A x, A) {
       const Array scaled = erfcx(mul(x, like(x, -1 / std::numbers::sqrt2)));
       return mul(t, div(like(x, 2 * kDensityOfNormal), scaled));
     }},
    {"ndtri",
     [](A t, A, A r) {
       return mul(t, mul(like(r, 1 / kDensityOfNormal), exp(mul(square(r), like(r, 0.5)))));
     }},
    {"logit", [](A t, A x, A) { return div(t, mul(x, one_minus(x))); }},
    {"sinpi", [](A t, A x, A) { return mul(t, mul(cospi(x), like(x, std::numbers::pi))); }},
    {"cospi", [](A t, A x, A) { return mul(t, mul(sinpi(x), like(x, -std::numbers::pi))); }},
    {"gamma", [](A t, A x, A r) { return mul(t, mul(r, digamma(x))); }},
    {"factorial", [](A t, A x, A r) { return mul(t, mul(r, digamma(one_plus(x)))); }},
    {"lgamma", [](A t, A x, A) { return mul(t, digamma(x)); }},
    {"digamma", [](A t, A x, A) { return mul(t, polygamma(like(x, 1), x)); }},
    {"bessel_i0", [](A t, A x, A) { return mul(t, bessel_i1(x)); }},
    {"bessel_i1", bessel_i1_derivative},
    {"bessel_i0e", [](A t, A x, A r) { return mul(t, sub(bessel_i1e(x), mul(sign(x), r))); }},
    {"bessel_i1e", bessel_i1e_derivative},
    {"square", [](A t, A x, A) { return mul(t, twice(x)); }},
    {"real", [](A t, A, A) { return real(t); }, [](A ct) { return complex(ct, like(ct, 0)); }},
    {"imag", [](A t, A, A) { return imag(t); }, [](A ct) { return complex(like(ct, 0), neg(ct)); }},
    {"conj", [](A t, A, A) { return conj(t); }, conj},
    {"population_count"},
    {"clz"},
};

constexpr auto kFirst = [](A t, A, A, A) { return t; };
constexpr auto kSame = [](A ct, A) { return ct; };
constexpr auto kProduct = [](A ct, A other) { return mul(ct, other); };
constexpr auto kShareX = [](A t, A x, A y, A r) { return mul(t, share(x, y, r)); };
constexpr auto kShareY = [](A t, A x, A y, A r) { return mul(t, share(y, x, r)); };

template <const char* const& message>
Array no_derivative(A, A, A, A) {
  throw Error(ErrorCode::kUnimplemented, message);
}
constexpr const char* kOrder = "polygamma: has no derivative with respect to its order m";
constexpr const char* kSecond = "igamma_grad_a: has no derivatives";
constexpr const char* kSampleSecond = "random_gamma_grad: has no derivatives";
constexpr const char* kExponent = "zeta: has no derivative with respect to its exponent x";
constexpr auto no_derivative_by_order = no_derivative<kOrder>;

// x^(a - 1) e^-x / Gamma(a)
Array gamma_density(A a, A x) {
  const Array exponent = sub(a, like(a, 1));
  const auto [logarithm, at_zero] = power_in_parts(x, exponent);
  return mul(at_zero, exp(sub(sub(logarithm, x), lgamma(a))));
}

// x^y. A zeroth power is constant, at zero too, where x^(y - 1) is infinite.
Array pow_by_base(A t, A x, A y, A) {
  const Array is_constant = bitwise_and(eq(x, like(x, 0)), eq(y, like(y, 0)));
  const Array exponent = sub(select(is_constant, y, like(y, 1)), like(y, 1));
  return mul(t, mul(y, pow(x, exponent)));
}

// The derivatives of atan2, y / (x^2 + y^2) and -x / (x^2 + y^2), after division by a length that
// keeps squares in the range of numbers. It counts as constant, as it cancels out.
struct Direction {
  Array x, y, square_length;  // of the vector divided by `length`; the square times `length`
};
Direction direction_of(A x, A y) {
  const Array longest = stop_gradient(max(abs(x), abs(y)));
  const Array is_length = bitwise_and(is_finite(longest), ne(longest, like(x, 0)));
  const Array length = select(is_length, like(x, 1), longest);
  const Array a = div(x, length), b = div(y, length);
  return {a, b, mul(length, add(square(a), square(b)))};
}

// The derivative of the logarithm of beta(x, y) by x.
Array betaln_slope(A x, A y) { return sub(digamma(x), digamma(add(x, y))); }

constexpr BinaryRow kBinary[] = {
    {"add", kFirst, kFirst, kSame, kSame},
    {"sub", kFirst, [](A t, A, A, A) { return neg(t); }, kSame, [](A ct, A) { return neg(ct); }},
    {"mul", [](A t, A, A y, A) { return mul(t, y); }, [](A t, A x, A, A) { return mul(t, x); },
     kProduct, kProduct},
    {"div", [](A t, A, A y, A) { return div(t, y); },
     // Not by the square of y, which leaves the range of numbers first.
     [](A t, A, A y, A r) { return mul(t, neg(div(r, y))); },
     [](A ct, A other) { return div(ct, other); }},
    {"rem", kFirst, [](A t, A x, A y, A r) { return mul(t, round(div(sub(r, x), y), 1)); }},
    {"max", kShareX, kShareY},
    {"min", kShareX, kShareY},
    {"pow", pow_by_base,
     [](A t, A x, A, A r) { return mul(t, mul(log(zero_replaced_by_one(x)), r)); }},
    {"atan2",
     [](A t, A x, A y, A) {
       const Direction d = direction_of(x, y);
       return mul(t, div(d.y, d.square_length));
     },
     [](A t, A x, A y, A) {
       const Direction d = direction_of(x, y);
       return mul(t, neg(div(d.x, d.square_length)));
     }},
    {"nextafter", kFirst},
    {"polygamma", no_derivative_by_order,
     [](A t, A m, A x, A) { return mul(t, polygamma(one_plus(m), x)); }},
    {"igamma", [](A t, A a, A x, A) { return mul(t, igamma_grad_a(a, x)); },
     [](A t, A a, A x, A) { return mul(t, gamma_density(a, x)); }},
    {"igammac", [](A t, A a, A x, A) { return mul(t, neg(igamma_grad_a(a, x))); },
     [](A t, A a, A x, A) { return mul(t, neg(gamma_density(a, x))); }},
    {"igamma_grad_a", no_derivative<kSecond>, no_derivative<kSecond>},
    {"beta", [](A t, A x, A y, A r) { return mul(t, mul(r, betaln_slope(x, y))); },
     [](A t, A x, A y, A r) { return mul(t, mul(r, betaln_slope(y, x))); }},
    {"betaln", [](A t, A x, A y, A) { return mul(t, betaln_slope(x, y)); },
     [](A t, A x, A y, A) { return mul(t, betaln_slope(y, x)); }},
    {"random_gamma_grad", no_derivative<kSampleSecond>, no_derivative<kSampleSecond>},
    {"zeta", no_derivative<kExponent>,
     [](A t, A x, A q, A) { return mul(t, neg(mul(x, zeta(one_plus(x), q)))); }},
    {"gcd"},
    {"and"},
    {"or"},
    {"xor"},
    {"shift_left"},
    {"shift_right_logical"},
    {"shift_right_arithmetic"},
    {"eq"},
    {"ne"},
    {"lt"},
    {"le"},
    {"gt"},
    {"ge"},
    {"complex", [](A t, A, A, A) { return complex(t, like(t, 0)); },
     [](A t, A, A, A) { return complex(like(t, 0), t); }, [](A ct, A) { return real(ct); },
     [](A ct, A) { return neg(imag(ct)); }},
};

// Rules that know their row.
template <class Row>
struct RowRules : TransformRules {
  const Row* row = nullptr;
};
template <class Row>
const Row& row_of(const Primitive& primitive) {
  return *static_cast<const RowRules<Row>&>(*primitive.rules).row;
}

JvpResults unary_jvp(const JvpCall& call) {
  const auto derivative = row_of<UnaryRow>(call.primitive).derivative;
  const Array r = bind_one(call.primitive, call.params, call.primals);
  if (!derivative) return with_tangent(r, {});
  return with_tangent(r, {derivative(call.tangents[0], call.primals[0], r)});
}

JvpResults binary_jvp(const JvpCall& call) {
  const BinaryRow& row = row_of<BinaryRow>(call.primitive);
  const Array r = bind_one(call.primitive, call.params, call.primals);
  const auto term = [&](BinaryDerivative derivative, A t) {
    return derivative && !t.is_null() ? derivative(t, call.primals[0], call.primals[1], r)
                                      : Array();
  };
  return with_tangent(r, {term(row.by_x, call.tangents[0]), term(row.by_y, call.tangents[1])});
}

std::vector<Array> unary_transpose(const TransposeCall& call) {
  return {row_of<UnaryRow>(call.primitive).transpose(call.cotangents[0])};
}

std::vector<Array> binary_transpose(const TransposeCall& call) {
  const BinaryRow& row = row_of<BinaryRow>(call.primitive);
  const BinaryTranspose transposes[] = {row.transpose_x, row.transpose_y};
  // A product or quotient of two linear operands.
  const bool needs_other = row.transpose_x == kProduct || !row.transpose_y;
  if (needs_other && call.is_linear(0) && call.is_linear(1)) not_linear(call.primitive);
  std::vector<Array> found(2);
  for (size_t i = 0; i < 2; ++i) {
    if (!call.is_linear(i)) continue;
    if (!transposes[i]) not_linear(call.primitive);
    found[i] = unbroadcast(transposes[i](call.cotangents[0], call.inputs[1 - i]), call.types[i]);
  }
  return found;
}

RowRules<UnaryRow> rules_of(const UnaryRow& row) {
  return {{.jvp = unary_jvp,
           .transpose = row.transpose ? unary_transpose : nullptr,
           .batch = batch_elementwise},
          &row};
}
RowRules<BinaryRow> rules_of(const BinaryRow& row) {
  return {{.jvp = binary_jvp,
           .transpose = row.transpose_x ? binary_transpose : nullptr,
           .batch = batch_elementwise},
          &row};
}

// Null when the table has no such row.
template <class Row, size_t size>
const RowRules<Row>* find_rules(const Row (&rows)[size], std::string_view name) {
  static const auto* all = [&rows] {
    auto* made = new std::array<RowRules<Row>, size>;
    std::ranges::transform(rows, made->begin(), [](const Row& row) { return rules_of(row); });
    return made;
  }();
  const auto found = std::ranges::find(rows, name, &Row::name);
  return found == std::end(rows) ? nullptr : &(*all)[found - std::begin(rows)];
}

}  // namespace

const TransformRules* elementwise_rules(std::string_view primitive) {
  if (const auto* unary = find_rules(kUnary, primitive)) return unary;
  if (const auto* binary = find_rules(kBinary, primitive)) return binary;
  throw Error(ErrorCode::kInternal,
              fmt::format("{}: has no row in elementwise_rules.cpp", primitive));
}

}  // namespace farcall
