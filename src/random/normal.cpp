// Normal samples and distributions based on them.
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>

#include "ops/internal/rules.h"
#include "random/checks.h"
#include "random/uniform.h"

namespace farcall::random {
namespace {

// The inverse distribution function of uniform samples in (-1, 1).
Array real_samples(const Array& key, std::span<const int64_t> shape, DType dtype) {
  const int digits = float_form("normal", dtype).mantissa;
  const double above_minus_one = -1 + std::ldexp(1.0, -digits - 1);
  const Array u = between(key, shape, dtype, above_minus_one, 1);
  return lax::mul(scalar_of(dtype, std::numbers::sqrt2), lax::erf_inv(u));
}

}  // namespace

Array normal(const Array& key, ListOf<int64_t> shape, DType dtype) {
  const Array typed = one_key("normal", key);
  const Shape size = checked_shape("normal", shape);
  if (is_floating(dtype)) return real_samples(typed, size, dtype);
  if (!is_complex(dtype)) {
    invalid_argument(
        fmt::format("normal: dtype must be a float or complex, got {}", dtype_name(dtype)));
  }
  const DType part = real_dtype(dtype);
  const Array sqrt2 = scalar_of(part, std::numbers::sqrt2);
  const Array real = real_samples(subkey(typed, 0), size, part);
  const Array imag = real_samples(subkey(typed, 1), size, part);
  return lax::complex(lax::div(real, sqrt2), lax::div(imag, sqrt2));
}

Array truncated_normal(const Array& key, const Array& lower, const Array& upper,
                       const OptionalShape& shape, DType dtype) {
  const Array typed = one_key("truncated_normal", key);
  check_float("truncated_normal", dtype);
  const Shape size = common_shape("truncated_normal", shape, {lower.shape(), upper.shape()});
  const Array low = in_dtype(lower, dtype), high = in_dtype(upper, dtype);
  const Array sqrt2 = scalar_of(dtype, std::numbers::sqrt2);
  const Array u =
      uniform(typed, size, dtype, lax::erf(lax::div(low, sqrt2)), lax::erf(lax::div(high, sqrt2)));
  // Rounding must not move a sample to a bound or beyond it.
  const Array infinity = scalar_of(dtype, std::numeric_limits<double>::infinity());
  return numpy::clip(lax::mul(sqrt2, lax::erf_inv(u)),
                     lax::nextafter(lax::stop_gradient(low), infinity),
                     lax::nextafter(lax::stop_gradient(high), lax::neg(infinity)));
}

Array lognormal(const Array& key, const Array& sigma, const OptionalShape& shape, DType dtype) {
  const Array typed = one_key("lognormal", key);
  const Shape size = common_shape("lognormal", shape, {sigma.shape()});
  if (!is_complex(dtype)) check_float("lognormal", dtype);
  return lax::exp(normal(typed, size, dtype) * parameter("lognormal", sigma, dtype));
}

Array maxwell(const Array& key, ListOf<int64_t> shape, DType dtype) {
  const Array typed = one_key("maxwell", key);
  check_float("maxwell", dtype);
  const Array x = normal(typed, joined<Shape>(checked_shape("maxwell", shape), {{3}}), dtype);
  return lax::sqrt(numpy::sum(lax::mul(x, x), -1));
}

Array double_sided_maxwell(const Array& key, const Array& loc, const Array& scale,
                           ListOf<int64_t> shape, DType dtype) {
  const Array typed = one_key("double_sided_maxwell", key);
  check_float("double_sided_maxwell", dtype);
  const Shape parameters = common_shape("double_sided_maxwell", {}, {loc.shape(), scale.shape()});
  const Shape given = checked_shape("double_sided_maxwell", shape);
  const Shape size = joined<Shape>(given.empty() ? parameters : given, parameters);
  const Array length = maxwell(subkey(typed, 0), size, dtype);
  const Array sign = rademacher(subkey(typed, 1), size, dtype);
  return sign * length * scale + loc;
}

}  // namespace farcall::random
