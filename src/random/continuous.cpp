// Distributions that are sampled by a formula from uniform samples.
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>

#include "ops/internal/rules.h"
#include "random/checks.h"
#include "random/primitives.h"
#include "random/uniform.h"

namespace farcall::random {
namespace {

double smallest_normal(const FloatForm& form) { return std::ldexp(1.0, form.min_exponent); }
double epsilon(const FloatForm& form) { return std::ldexp(1.0, -form.mantissa); }

Array word(uint32_t value) { return Array::scalar(value); }

// -log(-log(x)), the inverse distribution function of gumbel. The argument is log(x); pass
// log1p(-x) to get the function of 1 - x.
Array twice_log(const Array& log_x) { return lax::neg(lax::log(lax::neg(log_x))); }

// Converts a 64-bit fixed-point number below 1, given as two words, to float32, rounding down.
Array fixed_point(const Array& high, const Array& low) {
  using namespace lax;
  const Array zeros_high = clz(high), zeros_low = clz(low);
  const Array is_small = eq(zeros_high, word(32));
  const Array moved = numpy::where(is_small, shift_left(low, zeros_low),
                                   shift_right_logical(low, sub(word(32), zeros_high)));
  const Array digits = bitwise_or(shift_left(high, zeros_high), moved);
  const Array mantissa = bitwise_and(shift_right_logical(digits, word(8)), word((1u << 23) - 1));
  const Array zeros = numpy::where(is_small, add(word(32), zeros_low), zeros_high);
  const Array exponent =
      bitwise_and(shift_left(sub(word(126), zeros), word(23)), word((1u << 30) - (1u << 22)));
  return bitcast_convert_type(bitwise_or(exponent, mantissa), DType::kFloat32);
}

// From 64 random bits: uses x where it is small, and 1 - x where that is small.
Array precise_gumbel(const Array& key, std::span<const int64_t> shape) {
  using namespace lax;
  const Array both = random_bits(key, 32, joined<Shape>({{2}}, shape));
  const Array high = numpy::take(both, {int64_t{0}}), low = numpy::take(both, {int64_t{1}});
  const Array not_low = bitwise_not(low);
  const Array carry = convert_element_type(eq(not_low, word(0xffff'ffffu)), DType::kUInt32);
  const Array is_low_half = lt(high, word(1u << 31));
  const Array x = fixed_point(numpy::where(is_low_half, high, add(bitwise_not(high), carry)),
                              numpy::where(is_low_half, low, add(not_low, word(1))));
  return numpy::where(is_low_half, twice_log(log1p(neg(x))), twice_log(log(x)));
}

}  // namespace

Array exponential(const Array& key, ListOf<int64_t> shape, DType dtype) {
  const Array typed = one_key("exponential", key);
  check_float("exponential", dtype);
  return exponential_samples(typed, checked_shape("exponential", shape), dtype);
}

Array gumbel(const Array& key, ListOf<int64_t> shape, DType dtype, std::string_view mode) {
  const Array typed = one_key("gumbel", key);
  const FloatForm form = float_form("gumbel", dtype);
  const Shape size = checked_shape("gumbel", shape);
  if (mode == "low") {
    return twice_log(lax::log(between(typed, size, dtype, smallest_normal(form), 1)));
  }
  if (mode == "highest" && dtype == DType::kFloat32) return precise_gumbel(typed, size);
  if (mode != "high" && mode != "highest") {
    invalid_argument(
        fmt::format("gumbel: mode must be \"low\", \"high\" or \"highest\", got \"{}\"", mode));
  }
  const Array both = unit_interval(typed, joined<Shape>({{2}}, size), dtype);
  const Array high = numpy::take(both, {int64_t{0}}), low = numpy::take(both, {int64_t{1}});
  const auto number = [&](double value) { return scalar_of(dtype, value); };
  const Array extended =
      lax::add(lax::add(high, lax::mul(number(epsilon(form)), low)), number(smallest_normal(form)));
  const Array x = numpy::where(lax::ge(high, number(0.5)), high, extended);
  return twice_log(lax::log1p(lax::neg(x)));
}

Array laplace(const Array& key, ListOf<int64_t> shape, DType dtype) {
  const Array typed = one_key("laplace", key);
  const double above_minus_one = -1 + epsilon(float_form("laplace", dtype)) / 2;
  const Array u = between(typed, checked_shape("laplace", shape), dtype, above_minus_one, 1);
  return lax::mul(lax::sign(u), lax::log1p(lax::neg(lax::abs(u))));
}

Array logistic(const Array& key, ListOf<int64_t> shape, DType dtype) {
  const Array typed = one_key("logistic", key);
  const double least = smallest_normal(float_form("logistic", dtype));
  const Array x = between(typed, checked_shape("logistic", shape), dtype, least, 1);
  return lax::sub(lax::log(x), lax::log1p(lax::neg(x)));
}

Array cauchy(const Array& key, ListOf<int64_t> shape, DType dtype) {
  const Array typed = one_key("cauchy", key);
  const double least = epsilon(float_form("cauchy", dtype));
  const Array u = between(typed, checked_shape("cauchy", shape), dtype, least, 1);
  return lax::tan(lax::mul(scalar_of(dtype, std::numbers::pi), lax::sub(u, scalar_of(dtype, 0.5))));
}

Array weibull_min(const Array& key, const Array& scale, const Array& concentration,
                  ListOf<int64_t> shape, DType dtype) {
  const Array typed = one_key("weibull_min", key);
  check_float("weibull_min", dtype);
  const Array e = exponential_samples(typed, checked_shape("weibull_min", shape), dtype);
  return numpy::power(e, 1.0 / settled(concentration, dtype)) * scale;
}

Array pareto(const Array& key, const Array& b, const OptionalShape& shape, DType dtype) {
  const Array typed = one_key("pareto", key);
  check_float("pareto", dtype);
  const Shape size = common_shape("pareto", shape, {b.shape()});
  return lax::exp(exponential_samples(typed, size, dtype) / parameter("pareto", b, dtype));
}

Array rayleigh(const Array& key, const Array& scale, const OptionalShape& shape, DType dtype) {
  const Array typed = one_key("rayleigh", key);
  check_float("rayleigh", dtype);
  const Shape size = common_shape("rayleigh", shape, {scale.shape()});
  const Array log_u = lax::log(unit_interval(typed, size, dtype));
  return parameter("rayleigh", scale, dtype) * lax::sqrt(lax::mul(log_u, scalar_of(dtype, -2)));
}

// J. Michael, W. Schucany and R. Haas, "Generating random variates using transformations with
// multiple roots" (The American Statistician, 1976), with scale 1.
Array wald(const Array& key, const Array& mean, const OptionalShape& shape, DType dtype) {
  const Array typed = one_key("wald", key);
  check_float("wald", dtype);
  const Shape size = common_shape("wald", shape, {mean.shape()});
  const Array mu = in_shape(parameter("wald", mean, dtype), size);
  const Array y = lax::square(normal(subkey(typed, 0), size, dtype));
  const Array u = unit_interval(subkey(typed, 1), size, dtype);
  const Array mu_squared = lax::square(mu);
  const Array root = lax::sqrt(4.0 * mu * y + mu_squared * lax::square(y));
  const Array x = mu + mu_squared * y / 2.0 - mu / 2.0 * root;
  return numpy::where(lax::le(u, mu / (mu + x)), x, mu_squared / x);
}

Array triangular(const Array& key, const Array& left, const Array& mode, const Array& right,
                 const OptionalShape& shape, DType dtype) {
  const Array typed = one_key("triangular", key);
  check_float("triangular", dtype);
  const Shape size = common_shape("triangular", shape, {left.shape(), mode.shape(), right.shape()});
  const auto given = [&](const Array& x) {
    return in_shape(parameter("triangular", x, dtype), size);
  };
  const Array low = given(left), peak = given(mode), high = given(right);
  const Array u = unit_interval(typed, size, dtype);
  const Array rising = low + lax::sqrt(u * (high - low) * (peak - low));
  const Array falling = high - lax::sqrt((1.0 - u) * (high - low) * (high - peak));
  return numpy::where(lax::lt(u, (peak - low) / (high - low)), rising, falling);
}

}  // namespace farcall::random
