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
  std::string_view stablehlo;
  UnaryDerivative derivative = nullptr;
  UnaryTranspose transpose = nullptr;
};

struct BinaryRow {
  std::string_view name;
  std::string_view stablehlo;
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

Array erf_slope(A x, double scale) {
  return mul(like(x, scale * 2 * std::numbers::inv_sqrtpi), exp(neg(square(x))));
}

// i0e(x) - (sign(x) + 1 / x) i1e(x); a half at zero.
Array bessel_i1e_derivative(A t, A x, A r) {
  const Array is_zero = eq(x, like(x, 0));
  const Array safe = select(is_zero, x, like(x, 1));
  const Array slope = sub(bessel_i0e(x), mul(r, add(sign(x), div(like(x, 1), safe))));
  return mul(t, select(is_zero, slope, like(x, 0.5)));
}

constexpr UnaryRow kUnary[] = {
    {"neg", "stablehlo.negate", [](A t, A, A) { return neg(t); }, neg},
    {"abs", "stablehlo.abs", abs_derivative},
    {"sign", "stablehlo.sign"},
    {"floor", "stablehlo.floor"},
    {"ceil", "stablehlo.ceil"},
    {"is_finite", "stablehlo.is_finite"},
    {"not", "stablehlo.not"},
    {"exp", "stablehlo.exponential", [](A t, A, A r) { return mul(t, r); }},
    {"exp2", "", [](A t, A, A r) { return mul(t, mul(r, like(r, std::numbers::ln2))); }},
    {"expm1", "stablehlo.exponential_minus_one", [](A t, A, A r) { return mul(t, one_plus(r)); }},
    {"log", "stablehlo.log", [](A t, A x, A) { return div(t, x); }},
    {"log1p", "stablehlo.log_plus_one", [](A t, A x, A) { return div(t, one_plus(x)); }},
    {"sqrt", "stablehlo.sqrt", [](A t, A, A r) { return mul(t, div(like(r, 0.5), r)); }},
    {"rsqrt", "stablehlo.rsqrt",
     [](A t, A x, A r) { return mul(t, mul(like(r, -0.5), div(r, x))); }},
    {"cbrt", "stablehlo.cbrt",
     [](A t, A, A r) { return mul(t, mul(like(r, 1.0 / 3), integer_pow(r, -2))); }},
    {"sin", "stablehlo.sine", [](A t, A x, A) { return mul(t, cos(x)); }},
    {"cos", "stablehlo.cosine", [](A t, A x, A) { return mul(t, neg(sin(x))); }},
    {"tan", "stablehlo.tan", [](A t, A, A r) { return mul(t, one_plus(square(r))); }},
    {"asin", "chlo.asin", [](A t, A x, A) { return mul(t, rsqrt(one_minus(square(x)))); }},
    {"acos", "chlo.acos", [](A t, A x, A) { return mul(t, neg(rsqrt(one_minus(square(x))))); }},
    {"atan", "chlo.atan", [](A t, A x, A) { return div(t, one_plus(square(x))); }},
    {"sinh", "chlo.sinh", [](A t, A x, A) { return mul(t, cosh(x)); }},
    {"cosh", "chlo.cosh", [](A t, A x, A) { return mul(t, sinh(x)); }},
    {"tanh", "stablehlo.tanh", [](A t, A, A r) { return mul(t, mul(one_plus(r), one_minus(r))); }},
    {"asinh", "chlo.asinh", [](A t, A x, A) { return mul(t, rsqrt(one_plus(square(x)))); }},
    // Not rsqrt(x² - 1), which for complex x lies on the wrong branch in half of the plane.
    {"acosh", "chlo.acosh",
     [](A t, A x, A) { return mul(t, mul(rsqrt(sub(x, like(x, 1))), rsqrt(one_plus(x)))); }},
    {"atanh", "chlo.atanh", [](A t, A x, A) { return div(t, mul(one_minus(x), one_plus(x))); }},
    {"logistic", "stablehlo.logistic", [](A t, A, A r) { return mul(t, mul(r, one_minus(r))); }},
    {"erf", "chlo.erf", [](A t, A x, A) { return mul(t, erf_slope(x, 1)); }},
    {"erfc", "chlo.erfc", [](A t, A x, A) { return mul(t, erf_slope(x, -1)); }},
    {"erf_inv", "chlo.erf_inv",
     [](A t, A, A r) {
       return mul(t, mul(like(r, 0.5 / std::numbers::inv_sqrtpi), exp(square(r))));
     }},
    {"lgamma", "chlo.lgamma", [](A t, A x, A) { return mul(t, digamma(x)); }},
    {"digamma", "chlo.digamma", [](A t, A x, A) { return mul(t, polygamma(like(x, 1), x)); }},
    {"bessel_i0e", "chlo.bessel_i0e",
     [](A t, A x, A r) { return mul(t, sub(bessel_i1e(x), mul(sign(x), r))); }},
    {"bessel_i1e", "chlo.bessel_i1e", bessel_i1e_derivative},
    {"square", "chlo.square", [](A t, A x, A) { return mul(t, twice(x)); }},
    {"real", "stablehlo.real", [](A t, A, A) { return real(t); },
     [](A ct) { return complex(ct, like(ct, 0)); }},
    {"imag", "stablehlo.imag", [](A t, A, A) { return imag(t); },
     [](A ct) { return complex(like(ct, 0), neg(ct)); }},
    {"conj", "chlo.conj", [](A t, A, A) { return conj(t); }, conj},
    {"population_count", "stablehlo.popcnt"},
    {"clz", "stablehlo.count_leading_zeros"},
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
constexpr const char* kExponent = "zeta: has no derivative with respect to its exponent x";
constexpr auto no_derivative_by_order = no_derivative<kOrder>;

// x^(a - 1) e^-x / Gamma(a)
Array gamma_density(A a, A x) {
  return exp(sub(sub(mul(sub(a, like(a, 1)), log(x)), x), lgamma(a)));
}

constexpr BinaryRow kBinary[] = {
    {"add", "stablehlo.add", kFirst, kFirst, kSame, kSame},
    {"sub", "stablehlo.subtract", kFirst, [](A t, A, A, A) { return neg(t); }, kSame,
     [](A ct, A) { return neg(ct); }},
    {"mul", "stablehlo.multiply", [](A t, A, A y, A) { return mul(t, y); },
     [](A t, A x, A, A) { return mul(t, x); }, kProduct, kProduct},
    {"div", "stablehlo.divide", [](A t, A, A y, A) { return div(t, y); },
     [](A t, A x, A y, A) { return mul(t, neg(mul(x, integer_pow(y, -2)))); },
     [](A ct, A other) { return div(ct, other); }},
    {"rem", "stablehlo.remainder", kFirst,
     [](A t, A x, A y, A) {
       const Array quotient = div(x, y);
       return mul(t, neg(mul(sign(quotient), floor(abs(quotient)))));
     }},
    {"max", "stablehlo.maximum", kShareX, kShareY},
    {"min", "stablehlo.minimum", kShareX, kShareY},
    {"pow", "stablehlo.power",
     // A zeroth power is constant, at zero too, where y - 1 would make an infinity.
     [](A t, A x, A y, A) {
       return mul(t, mul(y, pow(x, sub(zero_replaced_by_one(y), like(y, 1)))));
     },
     [](A t, A x, A, A r) { return mul(t, mul(log(zero_replaced_by_one(x)), r)); }},
    {"atan2", "stablehlo.atan2",
     [](A t, A x, A y, A) { return mul(t, div(y, add(square(x), square(y)))); },
     [](A t, A x, A y, A) { return mul(t, neg(div(x, add(square(x), square(y))))); }},
    {"nextafter", "chlo.next_after", kFirst},
    {"polygamma", "chlo.polygamma", no_derivative_by_order,
     [](A t, A m, A x, A) { return mul(t, polygamma(one_plus(m), x)); }},
    {"igamma", "", [](A t, A a, A x, A) { return mul(t, igamma_grad_a(a, x)); },
     [](A t, A a, A x, A) { return mul(t, gamma_density(a, x)); }},
    {"igammac", "", [](A t, A a, A x, A) { return mul(t, neg(igamma_grad_a(a, x))); },
     [](A t, A a, A x, A) { return mul(t, neg(gamma_density(a, x))); }},
    {"igamma_grad_a", "", no_derivative<kSecond>, no_derivative<kSecond>},
    {"zeta", "chlo.zeta", no_derivative<kExponent>,
     [](A t, A x, A q, A) { return mul(t, neg(mul(x, zeta(one_plus(x), q)))); }},
    {"and", "stablehlo.and"},
    {"or", "stablehlo.or"},
    {"xor", "stablehlo.xor"},
    {"shift_left", "stablehlo.shift_left"},
    {"shift_right_logical", "stablehlo.shift_right_logical"},
    {"shift_right_arithmetic", "stablehlo.shift_right_arithmetic"},
    {"eq", "stablehlo.compare"},
    {"ne", "stablehlo.compare"},
    {"lt", "stablehlo.compare"},
    {"le", "stablehlo.compare"},
    {"gt", "stablehlo.compare"},
    {"ge", "stablehlo.compare"},
    {"complex", "stablehlo.complex", [](A t, A, A, A) { return complex(t, like(t, 0)); },
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

ElementwiseRules elementwise_rules(std::string_view primitive) {
  if (const auto* unary = find_rules(kUnary, primitive)) return {unary->row->stablehlo, unary};
  if (const auto* binary = find_rules(kBinary, primitive)) return {binary->row->stablehlo, binary};
  throw Error(ErrorCode::kInternal,
              fmt::format("{}: has no row in elementwise_rules.cpp", primitive));
}

}  // namespace farcall
