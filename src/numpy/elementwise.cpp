#include <farcall/numpy/elementwise.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <numbers>
#include <ranges>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/core/sizes.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/promotion.h>

#include "core/internal/visit_dtype.h"
#include "ops/internal/numpy.h"

namespace farcall::numpy {
namespace {

// Makes both operands strong and broadcasts them to one shape.
std::pair<Array, Array> of_one_type(const std::pair<Array, Array>& operands) {
  const std::span<const int64_t> shapes[] = {operands.first.shape(), operands.second.shape()};
  const Shape shape = broadcast_shapes(shapes);
  const Array x = broadcast_to(strengthen(operands.first), shape);
  return {x, broadcast_to(strengthen(operands.second), shape)};
}
std::pair<Array, Array> strong_floats(const Array& x, const Array& y, std::string_view function) {
  return of_one_type(promote_inexact(x, y, function));
}

// Whether elements are the infinity of this sign. Some narrow floats have none, and no other value
// may stand for it.
Array is_infinity(const Array& x, int sign) {
  switch (x.dtype()) {
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kFloat32:
    case DType::kFloat64:
      return equal(x, astype(sign * std::numeric_limits<double>::infinity(), x.dtype()));
    default:
      return logical_and(isinf(x), sign > 0 ? greater(x, 0) : less(x, 0));
  }
}

// The greatest finite number of a float dtype. The bit patterns of narrow floats are ordered, so it
// is the last finite pattern, or its negative.
double largest_number(DType dtype) {
  return detail::visit_dtype(dtype, [&](auto type) -> double {
    using T = decltype(type);
    if constexpr (std::is_floating_point_v<T>) {
      return std::numeric_limits<T>::max();
    } else if constexpr (requires { T::from_bits(0); }) {
      auto bits = static_cast<decltype(type.bits())>((1u << dtype_info(dtype).bits) - 1);
      while (!std::isfinite(static_cast<float>(T::from_bits(bits)))) --bits;
      return std::abs(static_cast<float>(T::from_bits(bits)));
    } else {
      return 0;
    }
  });
}

DType integer_of_width(size_t bytes) {
  return bytes == 1   ? DType::kInt8
         : bytes == 2 ? DType::kInt16
         : bytes == 4 ? DType::kInt32
                      : DType::kInt64;
}

// 10^exponent, rounded once.
double power_of_ten(int64_t exponent) {
  return std::strtod(fmt::format("1e{}", exponent).c_str(), nullptr);
}

// The shift of each bit of a byte.
Array bit_places(BitOrder order) {
  return order == BitOrder::kLittle ? Array::of<uint8_t>({0, 1, 2, 3, 4, 5, 6, 7})
                                    : Array::of<uint8_t>({7, 6, 5, 4, 3, 2, 1, 0});
}

Array same_nan(const Array& a, const Array& b) { return logical_and(isnan(a), isnan(b)); }

}  // namespace

// ---- rounding ----

Array round(const Array& x, int64_t decimals) {
  if (!is_inexact(x.dtype())) {
    if (decimals >= 0) return x;
    throw Error(ErrorCode::kUnimplemented,
                fmt::format("round: decimals must not be negative for integers, got {}", decimals));
  }
  if (decimals == 0) return rint(x);
  // Powers of ten overflow early in half precision.
  const bool is_narrow = byte_width(x.dtype()) < 4;
  const Array wide = is_narrow ? astype(x, DType::kFloat32) : x;
  const DType parts = real(wide).dtype();
  const auto most = static_cast<int64_t>(std::log10(largest_number(parts)));
  if (decimals < -most || decimals > most) {
    invalid_argument(fmt::format("round: decimals must lie in [-{}, {}] for {}, got {}", most, most,
                                 dtype_name(x.dtype()), decimals));
  }
  const Array factor = astype(power_of_ten(std::abs(decimals)), parts);
  const Array rounded = decimals > 0 ? rint(wide * factor) / factor : rint(wide / factor) * factor;
  return astype(rounded, x.dtype());
}

Array trunc(const Array& x) {
  if (!is_inexact(x.dtype())) return x;
  return where(less(x, 0), ceil(x), floor(x));
}

Array fix(const Array& x) { return trunc(promote_inexact(x, "fix")); }

Parts modf(const Array& x_in) {
  const Array x = promote_inexact(x_in, "modf");
  const Array whole = trunc(x);
  return {copysign(where(isinf(x), 0, x - whole), x), whole};
}

// ---- arithmetic ----

Array fmod(const Array& x, const Array& y) {
  const auto [a, b] = promote(x, y, "fmod");
  auto [dividend, divisor] = of_one_type({counted(a), counted(b)});
  if (!is_inexact(divisor.dtype())) divisor = where(equal(divisor, 0), 1, divisor);
  return lax::rem(dividend, divisor);
}

Array reciprocal(const Array& x) { return divide(1, x); }

Array float_power(const Array& x, const Array& y) {
  const auto [a, b] = strong_floats(x, y, "float_power");
  return power(a, b);
}

Array fabs(const Array& x) { return absolute(promote_inexact(x, "fabs")); }

Array fmax(const Array& x, const Array& y) {
  return where(logical_or(greater(x, y), isnan(y)), x, y);
}
Array fmin(const Array& x, const Array& y) { return where(logical_or(less(x, y), isnan(y)), x, y); }

Array heaviside(const Array& x_in, const Array& at_zero_in) {
  const auto [x, at_zero] = strong_floats(x_in, at_zero_in, "heaviside");
  const Array step = where(less(x, 0), 0, where(greater(x, 0), 1, at_zero));
  return where(isnan(x), x, astype(step, x.dtype()));
}

Array ldexp(const Array& x_in, const Array& exponent) {
  const Array x = promote_inexact(x_in, "ldexp");
  const Array power = astype(exponent, x.dtype());
  // In two steps: one power of two might overflow or underflow where the product does not.
  const Array half = floor(power / 2);
  return x * exp2(half) * exp2(power - half);
}

Mantissa frexp(const Array& x_in) {
  const Array x = promote_inexact(x_in, "frexp");
  if (is_complex(x.dtype())) {
    throw TypeError(fmt::format("frexp: takes real numbers, got {}", dtype_name(x.dtype())));
  }
  // Narrow floats are numbers of float32.
  const bool is_double = x.dtype() == DType::kFloat64;
  const bool is_narrow = byte_width(x.dtype()) < 4;
  const Array value = is_narrow ? astype(x, DType::kFloat32) : x;
  const int64_t width = is_double ? 52 : 23, bias = is_double ? 1022 : 126;
  const int64_t mask = is_double ? 0x7ff : 0xff;  // of exponents
  const double least =
      is_double ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  // Subnormal numbers are scaled to normal ones; 1 stands for what has no exponent.
  const Array is_subnormal = less(absolute(value), least);
  const Array has_exponent = logical_and(isfinite(value), not_equal(value, 0));
  const Array scaled = where(is_subnormal, value * std::ldexp(1.0, static_cast<int>(width)), value);
  const Array normal = where(has_exponent, scaled, 1);
  const Array bits = lax::bitcast_convert_type(normal, integer_of_width(byte_width(value.dtype())));
  const Array biased = bitwise_and(right_shift(bits, width), mask);
  const Array found = biased - bias - where(is_subnormal, width, 0);
  const Array exponent = astype(where(has_exponent, found, 0), DType::kInt32);
  // The power of two that makes 4 times the fraction is a normal number for every exponent.
  // Products with it are exact, and differentiable.
  const Array power = lax::bitcast_convert_type(left_shift(mask - biased, width), value.dtype());
  const Array fraction = where(has_exponent, normal * power * 0.25, value);
  return {is_narrow ? astype(fraction, x.dtype()) : fraction, exponent};
}

Array degrees(const Array& x) { return promote_inexact(x, "degrees") * (180 / std::numbers::pi); }
Array radians(const Array& x) { return promote_inexact(x, "radians") * (std::numbers::pi / 180); }

Array angle(const Array& z, bool in_degrees) {
  // Real scalars and integers have angles of the default dtype.
  const Array number = is_inexact(z.dtype()) && (z.rank() > 0 || is_complex(z.dtype()))
                           ? strengthen(z)
                           : widened(z, default_float());
  const Array result = arctan2(imag(number), real(number));
  return in_degrees ? degrees(result) : result;
}

// ---- signs and bits ----

Array signbit(const Array& x) {
  refuse_complex(x, "signbit");
  if (!is_floating(x.dtype())) return less(x, 0);
  return less(lax::bitcast_convert_type(x, integer_of_width(byte_width(x.dtype()))), 0);
}

Array copysign(const Array& x, const Array& sign) {
  const auto [a, b] = strong_floats(x, sign, "copysign");
  const Array size = absolute(a);
  return where(signbit(b), -size, size);
}

Array nextafter(const Array& x, const Array& toward) {
  const auto [a, b] = strong_floats(x, toward, "nextafter");
  return lax::nextafter(a, b);
}

Array spacing(const Array& x_in) {
  const Array x = promote_inexact(x_in, "spacing");
  refuse_complex(x, "spacing");
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const Array outward = where(less(x, 0), -kInfinite, kInfinite);
  return lax::nextafter(x, astype(outward, x.dtype())) - x;
}

Array bitwise_count(const Array& x) {
  if (x.dtype() == DType::kBool) return astype(x, DType::kUInt8);
  const bool is_signed = dtype_info(x.dtype()).kind == DTypeKind::kSigned;
  return astype(lax::population_count(is_signed ? absolute(x) : x), DType::kUInt8);
}

Array packbits(const Array& x_in, std::optional<int64_t> axis_in, BitOrder order) {
  if (!is_integer(x_in.dtype()) && x_in.dtype() != DType::kBool) {
    throw TypeError(
        fmt::format("packbits: expected integers or bools, got {}", dtype_name(x_in.dtype())));
  }
  const Array x = axis_in ? x_in : ravel(x_in);
  const int64_t axis = normalize_axis(axis_in.value_or(0), x.rank(), "packbits");
  Array bits = moveaxis(astype(not_equal(x, 0), DType::kUInt8), axis, -1);
  Shape shape(bits.shape().begin(), bits.shape().end());
  const int64_t size = shape.back(), missing = (8 - size % 8) % 8;
  shape.back() = missing;
  bits = concatenate({bits, zeros(shape, DType::kUInt8)}, -1);
  shape.back() = (size + missing) / 8;
  shape.push_back(8);
  bits = left_shift(reshape(bits, shape), bit_places(order));
  return moveaxis(astype(sum(bits, -1), DType::kUInt8), -1, axis);
}

Array unpackbits(const Array& x_in, std::optional<int64_t> axis_in, std::optional<int64_t> count,
                 BitOrder order) {
  if (x_in.dtype() != DType::kUInt8) {
    throw TypeError(fmt::format("unpackbits: expected uint8, got {}", dtype_name(x_in.dtype())));
  }
  const Array x = axis_in ? x_in : ravel(x_in);
  const int64_t axis = normalize_axis(axis_in.value_or(0), x.rank(), "unpackbits");
  const Array last = moveaxis(x, axis, -1);
  const Array one = Array::scalar<uint8_t>(1);
  Array bits = bitwise_and(right_shift(expand_dims(last, {-1}), bit_places(order)), one);
  Shape shape(last.shape().begin(), last.shape().end());
  shape.back() = checked_product(shape.back(), 8);
  bits = reshape(bits, shape);
  if (count) {
    const int64_t size = shape.back();
    const int64_t wanted = *count >= 0 ? *count : std::max<int64_t>(size + *count, 0);
    shape.back() = std::max<int64_t>(wanted - size, 0);
    const Array kept = take(bits, {Ellipsis{}, Slice{.stop = wanted}});
    bits = concatenate({kept, zeros(shape, DType::kUInt8)}, -1);
  }
  return moveaxis(bits, -1, axis);
}

Array isposinf(const Array& x) {
  refuse_complex(x, "isposinf");
  return is_infinity(x, 1);
}
Array isneginf(const Array& x) {
  refuse_complex(x, "isneginf");
  return is_infinity(x, -1);
}

// ---- comparison ----

Array isreal(const Array& x) { return equal(imag(x), 0); }
Array iscomplex(const Array& x) { return not_equal(imag(x), 0); }

Array isclose(const Array& a, const Array& b, const Closeness& within) {
  const auto [x, y] = strong_floats(a, b, "isclose");
  const Array near = less_equal(absolute(x - y), within.atol + within.rtol * absolute(y));
  const Array finite = logical_and(isfinite(x), isfinite(y));
  const Array close = logical_or(logical_and(near, finite), equal(x, y));
  return within.equal_nan ? logical_or(close, same_nan(x, y)) : close;
}

Array allclose(const Array& a, const Array& b, const Closeness& within) {
  return all(isclose(a, b, within));
}

Array array_equal(const Array& a, const Array& b, bool equal_nan) {
  if (!std::ranges::equal(a.shape(), b.shape())) return astype(false, DType::kBool);
  const Array same = equal(a, b);
  return all(equal_nan ? logical_or(same, same_nan(a, b)) : same);
}

Array array_equiv(const Array& a, const Array& b) {
  const size_t shared = std::min(a.rank(), b.rank());
  const auto ends_alike = [&](int64_t m, int64_t n) { return m == n || m == 1 || n == 1; };
  if (!std::ranges::equal(a.shape().last(shared), b.shape().last(shared), ends_alike)) {
    return astype(false, DType::kBool);
  }
  return all(equal(a, b));
}

// ---- selection ----

Array nan_to_num(const Array& x, const NanReplacements& by) {
  if (!is_inexact(x.dtype())) return x;
  if (is_complex(x.dtype())) {
    const Array parts[] = {nan_to_num(real(x), by), nan_to_num(imag(x), by)};
    return lax::complex(parts[0], parts[1]);
  }
  const DType dtype = x.dtype();
  const double largest = largest_number(dtype);
  const Array finite = where(isnan(x), astype(by.nan, dtype), x);
  const Array below = where(isposinf(finite), astype(by.posinf.value_or(largest), dtype), finite);
  return where(isneginf(below), astype(by.neginf.value_or(-largest), dtype), below);
}

Array select(ListOf<Array> conditions, ListOf<Array> choices, const Array& otherwise) {
  if (conditions.size() != choices.size() || conditions.empty()) {
    invalid_argument(fmt::format("select: needs as many conditions as choices, got {} and {}",
                                 conditions.size(), choices.size()));
  }
  Array result = otherwise;
  for (size_t i = conditions.size(); i-- > 0;) result = where(conditions[i], choices[i], result);
  return result;
}

}  // namespace farcall::numpy
