#include <farcall/scipy/special.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/ops/control_flow.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/special_functions.h>
#include <farcall/trace/custom_rules.h>

#include "ops/internal/numpy.h"

namespace farcall::special {
namespace {

using numpy::where;

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

bool is_double(const Array& x) { return x.dtype() == DType::kFloat64; }

// A function of one real operand, computed in float32 or float64.
template <class F>
Array in_full_precision(const Array& x, std::string_view function, F compute) {
  const Array given = numpy::promote_inexact(x, function);
  numpy::refuse_complex(given, function);
  const bool is_narrow = !is_double(given) && given.dtype() != DType::kFloat32;
  const Array result = compute(is_narrow ? numpy::astype(given, DType::kFloat32) : given);
  return is_narrow ? numpy::astype(result, given.dtype()) : result;
}
template <class F>
Array in_full_precision(const Array& x, const Array& y, std::string_view function, F compute) {
  const auto [a, b] = numpy::promote_inexact(x, y, function);
  return in_full_precision(b, function, [&, first = a](const Array& second) {
    return compute(numpy::astype(first, second.dtype()), second);
  });
}

// step(i, carry) for i = 1, …, count. A turn of the loop has several steps, which become one
// cluster.
template <class F>
std::vector<Array> repeated(int64_t count, std::vector<Array> carry, F step) {
  constexpr int64_t kMostSteps = 10;
  const DType dtype = carry[0].dtype();
  int64_t steps = kMostSteps;
  while (count % steps != 0) --steps;
  return lax::fori_loop(
      0, count / steps,
      [&](const Array& turn, std::span<const Array> state) {
        const Array first = numpy::astype(turn * steps + 1, dtype);
        std::vector<Array> values(state.begin(), state.end());
        for (int64_t i = 0; i < steps; ++i) {
          values = step(first + static_cast<double>(i), std::span<const Array>(values));
        }
        return values;
      },
      carry);
}

// ---- exponential integrals ----

// The sum of x^k / (k k!), k >= 1, for |x| <= 40 (20 in float32). By Horner's rule: powers of small
// numbers would be subnormal, which take long.
Array integral_series(const Array& x) {
  const int64_t count = is_double(x) ? 150 : 80;
  const auto found =
      repeated(count, {numpy::zeros_like(x)}, [&](const Array& i, std::span<const Array> state) {
        const Array k = static_cast<double>(count) + 1 - i;
        return std::vector<Array>{1 / k + x / (k + 1) * state[0]};
      });
  return x * found[0];
}

// exp(x) / x times the sum of k! / x^k, k >= 0, for greater x.
Array expi_of_large(const Array& x) {
  const auto found = repeated(is_double(x) ? 40 : 20, {numpy::ones_like(x), numpy::ones_like(x)},
                              [&](const Array& k, std::span<const Array> state) {
                                const Array term = state[0] * k / x;
                                return std::vector<Array>{term, state[1] + term};
                              });
  const Array half = numpy::exp(x / 2);  // exp(x) overflows earlier than the result
  return half * (half / x) * found[1];
}

Array expi_of_positive(const Array& x) {
  const double end = is_double(x) ? 40 : 20;
  const Array is_small = numpy::less(x, end);
  const Array small = where(is_small, x, 1), large = where(is_small, 2 * end, x);
  const Array near = std::numbers::egamma + numpy::log(small) + integral_series(small);
  const Array far = where(numpy::isinf(x), kInfinite, expi_of_large(large));
  return where(is_small, near, far);
}

// For 0 < x <= 1: the power series by Horner's rule, whose term n - 1 has a logarithm.
Array expn_series(const Array& n, const Array& x) {
  const int64_t count = is_double(x) ? 24 : 14;
  const auto add = [&](const Array& i, std::span<const Array> state) {
    const Array k = static_cast<double>(count) - i, distance = k - n + 1;
    const Array is_special = numpy::equal(distance, 0);
    const Array part = where(is_special, 0, 1 / where(is_special, 1, distance));
    return std::vector<Array>{-part - x / (k + 1) * state[0]};
  };
  const auto found = repeated(count, {numpy::zeros_like(x + n)}, add);
  const Array is_even = numpy::equal(numpy::remainder(n, 2), 0);
  const Array size = numpy::exp((n - 1) * numpy::log(x) - gammaln(n));
  const Array logarithm = digamma(n) - numpy::log(x);
  return found[0] + where(is_even, -size, size) * logarithm;
}

// For x > 1: the continued fraction, from a depth where it has converged.
Array expn_fraction(const Array& n, const Array& x) {
  const int64_t depth = is_double(x) ? 100 : 32;
  const auto found =
      repeated(depth, {x + n + 2.0 * static_cast<double>(depth)},
               [&](const Array& i, std::span<const Array> state) {
                 const Array k = static_cast<double>(depth) + 1 - i;
                 return std::vector<Array>{x + n + 2 * (k - 1) - k * (n + k - 1) / state[0]};
               });
  return numpy::exp(-x) / found[0];
}

Array expn_values(const Array& n, const Array& x) {
  const Array is_small = numpy::less_equal(x, 1), has_order = numpy::greater_equal(n, 1);
  const Array is_positive = numpy::greater(x, 0);
  const Array order = where(has_order, n, 1);
  const Array near = expn_series(order, where(numpy::logical_and(is_small, is_positive), x, 1));
  const Array far = expn_fraction(order, where(is_small, 2, x));
  const Array at_zero =
      where(numpy::less(n, 2), kInfinite, 1 / where(numpy::equal(n, 1), 2, n - 1));
  const Array of_order = where(numpy::equal(x, 0), at_zero, where(is_small, near, far));
  const Array all = where(has_order, of_order, numpy::exp(-x) / x);
  const Array is_defined = numpy::logical_and(
      numpy::greater_equal(x, 0),
      numpy::logical_and(numpy::greater_equal(n, 0), numpy::equal(numpy::floor(n), n)));
  return where(is_defined, all, kUndefined);
}

// Both have one dtype.
Array differentiable_expn(const Array& n, const Array& x) {
  using Pair = std::tuple<Array, Array>;
  const auto rule = [](const Pair& primals, const Pair& tangents) {
    const auto& [order, at] = primals;
    const Array none = numpy::exp(-at) / at;  // of order 0
    const Array is_first = numpy::equal(order, 0);
    const Array lower = differentiable_expn(where(is_first, 0, order - 1), at);
    const Array slope = where(is_first, none * (1 + 1 / at), lower);
    return std::pair(differentiable_expn(order, at), -std::get<1>(tangents) * slope);
  };
  return custom_jvp(expn_values, rule, {.name = "expn"})(n, x);
}

Array expi_values(const Array& x) {
  const Array is_negative = numpy::less(x, 0);
  const Array negative = -expn_values(numpy::ones_like(x), where(is_negative, -x, 1));
  const Array positive = expi_of_positive(where(numpy::greater(x, 0), x, 1));
  const Array found = where(is_negative, negative, positive);
  return where(numpy::equal(x, 0), -kInfinite, where(numpy::isnan(x), x, found));
}

// ---- the dilogarithm ----

// The sum of z^k / k^2, k >= 1, for |z| <= 1 / 2, by Horner's rule.
Array dilogarithm_series(const Array& z) {
  const int64_t count = is_double(z) ? 52 : 22;
  const auto found =
      repeated(count, {numpy::zeros_like(z)}, [&](const Array& i, std::span<const Array> state) {
        const Array k = static_cast<double>(count) + 1 - i;
        return std::vector<Array>{1 / (k * k) + z * state[0]};
      });
  return z * found[0];
}

Array spence_values(const Array& given) {
  const Array x = where(numpy::less(given, 0), kUndefined, given);
  const Array is_large = numpy::greater(x, 1.5);
  const Array inner = where(is_large, 1 / x, x);
  const Array is_small = numpy::less(inner, 0.5);
  const Array series = dilogarithm_series(where(is_small, inner, 1 - inner));
  const Array logarithm = numpy::log(where(numpy::equal(inner, 0), 1, inner));
  const Array reflected = std::numbers::pi * std::numbers::pi / 6 -
                          logarithm * numpy::log1p(where(is_small, -inner, 0)) - series;
  const Array found = where(is_small, reflected, series);
  return where(is_large, -0.5 * numpy::square(numpy::log(x)) - found, found);
}

template <class F, class Slope>
Array with_slope(const Array& x, const char* name, F function, Slope slope) {
  const auto rule = [=](const std::tuple<Array>& primals, const std::tuple<Array>& tangents) {
    const Array& at = std::get<0>(primals);
    return std::pair(with_slope(at, name, function, slope), std::get<0>(tangents) * slope(at));
  };
  return custom_jvp(function, rule, {.name = name})(x);
}

// ---- combinatorics ----

Array poch_values(const Array& z, const Array& m) {
  const Array top = z + m;
  const Array direct = gamma(top) / gamma(z);
  const Array by_logarithms = gammasgn(top) * gammasgn(z) * numpy::exp(gammaln(top) - gammaln(z));
  const Array found = where(numpy::isfinite(gamma(top)), direct, by_logarithms);
  return where(numpy::equal(m, 0), 1, found);
}

Array differentiable_poch(const Array& z, const Array& m) {
  using Pair = std::tuple<Array, Array>;
  const auto rule = [](const Pair& primals, const Pair& tangents) {
    const auto& [at, count] = primals;
    const Array found = differentiable_poch(at, count), end = digamma(at + count);
    return std::pair(
        found, found * (std::get<0>(tangents) * (end - digamma(at)) + std::get<1>(tangents) * end));
  };
  return custom_jvp(poch_values, rule, {.name = "poch"})(z, m);
}

}  // namespace

Array expi(const Array& x) {
  return in_full_precision(x, "expi", [](const Array& given) {
    return with_slope(given, "expi", expi_values,
                      [](const Array& at) { return numpy::exp(at) / at; });
  });
}

Array expn(const Array& n, const Array& x) {
  return in_full_precision(n, x, "expn", [](const Array& order, const Array& at) {
    return differentiable_expn(order, at);
  });
}

Array exp1(const Array& x) {
  return in_full_precision(x, "exp1", [](const Array& given) {
    return differentiable_expn(numpy::ones_like(given), given);
  });
}

Array spence(const Array& x) {
  return in_full_precision(x, "spence", [](const Array& given) {
    return with_slope(given, "spence", spence_values, [](const Array& at) {
      const Array distance = at - 1, is_one = numpy::equal(distance, 0);
      return where(is_one, -1, -numpy::log1p(distance) / where(is_one, 1, distance));
    });
  });
}

Array comb(const Array& n_given, const Array& k_given, bool repetition) {
  const auto [n, k] = numpy::promote_inexact(n_given, k_given, "comb");
  numpy::refuse_complex(n, "comb");
  const Array is_positive = numpy::greater_equal(n, 0);
  if (repetition) {
    const Array is_empty = numpy::logical_and(numpy::equal(k, 0), is_positive);
    return where(is_empty, 1, comb(n + k - 1, k));
  }
  const Array is_possible = numpy::logical_and(
      numpy::logical_and(numpy::less_equal(k, n), numpy::greater_equal(k, 0)), is_positive);
  const Array all = where(is_possible, n, 0), chosen = where(is_possible, k, 0);
  const Array logarithm = gammaln(all + 1) - gammaln(chosen + 1) - gammaln(all - chosen + 1);
  return where(is_possible, numpy::exp(logarithm), 0);
}

Array poch(const Array& z, const Array& m) {
  return in_full_precision(z, m, "poch", [](const Array& at, const Array& count) {
    return differentiable_poch(at, count);
  });
}

Array bernoulli(int64_t n) {
  if (n < 0) invalid_argument(fmt::format("bernoulli: n must not be negative, got {}", n));
  std::vector<double> numbers(static_cast<size_t>(n) + 1, 0.0);
  numbers[0] = 1;
  if (n >= 1) numbers[1] = -0.5;
  // B_m = ±2 m! zeta(m) / (2 pi)^m for even m.
  double factor = -2;
  for (size_t m = 2; m < numbers.size(); m += 2) {
    const auto number = static_cast<double>(m);
    factor *= -(number - 1) * number / (4 * std::numbers::pi * std::numbers::pi);
    numbers[m] = factor * std::riemann_zeta(number);
  }
  const int64_t size = n + 1;
  const Array made = Array::of(std::span<const double>(numbers), {&size, 1});
  return numpy::astype(made, default_float());
}

}  // namespace farcall::special
