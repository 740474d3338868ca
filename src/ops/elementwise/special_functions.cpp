// farcall::special: functions that are built from primitives.
#include <farcall/ops/special_functions.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>

#include "ops/internal/numpy.h"
#include "ops/internal/rules.h"

namespace farcall::special {
namespace {

using numpy::number_like;
using numpy::promote_inexact;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <auto op>
Array unary(const Array& x, std::string_view function) {
  return op(promote_inexact(x, function));
}
template <auto op>
Array special_binary(const Array& x, const Array& y, std::string_view function) {
  const auto [a, b] = promote_inexact(x, y, function);
  return op(a, b);
}

Array is_odd(const Array& whole) {
  const Array two = number_like(whole, 2);
  return lax::ne(lax::mul(lax::floor(lax::div(whole, two)), two), whole);
}

}  // namespace

// Parameter names cannot be parenthesized.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define FARCALL_SPECIAL_UNARY(name, function, x, summary) \
  Array name(const Array& x) { return unary<lax::function>(x, #name); }
#define FARCALL_SPECIAL_BINARY(name, function, x, y, summary) \
  Array name(const Array& x, const Array& y) { return special_binary<lax::function>(x, y, #name); }
// NOLINTEND(bugprone-macro-parentheses)
#include <farcall/ops/elementwise_list.h>

Array logit(const Array& x) {
  const Array a = promote_inexact(x, "logit");
  if (!is_complex(a.dtype())) return lax::logit(a);
  return lax::log(lax::div(a, lax::sub(number_like(a, 1), a)));
}

Array gammasgn(const Array& x) {
  const Array a = promote_inexact(x, "gammasgn");
  const Array zero = number_like(a, 0), one = number_like(a, 1);
  const Array whole = lax::floor(a);
  const Array is_pole = lax::eq(a, whole);
  const Array below =
      select(is_pole, number_like(a, kNan), select(is_odd(whole), lax::neg(one), one));
  // 1 / x distinguishes 0.0 and -0.0.
  const Array at_zero = lax::sign(lax::div(one, a));
  const Array above = select(lax::eq(a, zero), at_zero, one);
  const Array sign = select(lax::lt(a, zero), below, above);
  return select(lax::eq(a, a), sign, a);
}

Array factorial(const Array& n) {
  const Array a = promote_inexact(n, "factorial");
  const Array zero = number_like(a, 0);
  const Array is_pole = lax::bitwise_and(lax::lt(a, zero), lax::eq(a, lax::floor(a)));
  return select(is_pole, zero, lax::factorial(select(is_pole, zero, a)));
}

Array multigammaln(const Array& a, int64_t d) {
  if (d < 0) {
    invalid_argument(fmt::format("multigammaln: d must not be negative, got {}", d));
  }
  const Array x = promote_inexact(a, "multigammaln");
  const auto size = static_cast<double>(d);
  const auto last = static_cast<int64_t>(x.rank());
  const Array halves = lax::mul(lax::iota(x.dtype(), {d}, 0), number_like(x, 0.5));
  const Array terms = lax::lgamma(numpy::subtract(numpy::expand_dims(x, {last}), halves));
  return lax::add(numpy::sum(terms, last),
                  number_like(x, size * (size - 1) / 4 * std::log(std::numbers::pi)));
}

Array zeta(const Array& x, const Array& q) { return special_binary<lax::zeta>(x, q, "zeta"); }

Array betainc(const Array& a_in, const Array& b_in, const Array& x_in) {
  auto [a, b] = promote_inexact(a_in, b_in, "betainc");
  Array x = x_in;
  std::tie(a, x) = promote_inexact(a, x, "betainc");
  std::tie(b, x) = promote_inexact(b, x, "betainc");
  std::tie(a, x) = promote_inexact(a, x, "betainc");
  return lax::betainc(a, b, x);
}

// log(p / q) is log1p(e). If p and q are within a factor of 2, e is (p - q) / q, whose difference
// is exact. Else e is the larger of p / q and q / p less 1, and the sign of the logarithm follows.
// If that quotient overflows, powers of two are taken out of it.
Array rel_entr(const Array& p, const Array& q) {
  const auto [x, y] = promote_inexact(p, q, "rel_entr");
  const bool is_double = x.dtype() == DType::kFloat64;
  if (!is_double && x.dtype() != DType::kFloat32 && !is_complex(x.dtype())) {
    const Array wide =
        rel_entr(numpy::astype(x, DType::kFloat32), numpy::astype(y, DType::kFloat32));
    return numpy::astype(wide, x.dtype());
  }
  const Array zero = number_like(x, 0), one = number_like(x, 1);
  const Array are_above = lax::bitwise_and(lax::gt(x, zero), lax::gt(y, zero));
  const Array a = select(are_above, x, one), b = select(are_above, y, one);
  const Array are_near = lax::bitwise_and(lax::lt(lax::mul(a, number_like(a, 0.5)), b),
                                          lax::lt(lax::mul(b, number_like(b, 0.5)), a));
  const Array is_less = lax::bitwise_and(lax::lt(a, b), lax::bitwise_not(are_near));
  const Array high = select(is_less, b, a), low = select(is_less, a, b);
  const Array infinity = number_like(a, kInfinity);
  const Array is_plain =
      lax::bitwise_or(lax::lt(lax::div(high, low), infinity), lax::eq(high, infinity));
  const int half = is_double ? 540 : 75, back = is_double ? 64 : 24;
  const auto power = [&](int exponent) { return number_like(a, std::ldexp(1, exponent)); };
  const auto log_of_power = [&](int exponent) {
    return number_like(a, exponent * std::numbers::ln2);
  };
  const Array scaled = lax::div(lax::mul(high, select(is_plain, one, power(-half))),
                                lax::mul(low, select(is_plain, one, power(half))));
  const Array is_small = lax::lt(scaled, number_like(x, 2));
  const Array large = lax::mul(scaled, select(is_plain, one, select(is_small, power(back), one)));
  const Array excess = select(are_near, lax::div(lax::sub(a, b), b), lax::sub(large, one));
  const Array of_scale = select(is_small, log_of_power(2 * half - back), log_of_power(2 * half));
  const Array size = lax::add(lax::log1p(excess), select(is_plain, zero, of_scale));
  const Array logarithm = select(is_less, lax::neg(size), size);
  const Array is_zero = lax::bitwise_and(lax::eq(x, zero), lax::ge(y, zero));
  const Array outside = select(is_zero, zero, number_like(x, kInfinity));
  const Array value = select(are_above, lax::mul(a, logarithm), outside);
  return select(lax::bitwise_and(lax::eq(x, x), lax::eq(y, y)), value, number_like(x, kNan));
}

Array kl_div(const Array& p, const Array& q) {
  const auto [x, y] = promote_inexact(p, q, "kl_div");
  return numpy::add(numpy::subtract(rel_entr(x, y), x), y);
}

}  // namespace farcall::special
