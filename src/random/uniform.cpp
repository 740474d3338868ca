// Random bits, uniform floats and integers, and non-numeric samples derived from one uniform
// sample.
#include "random/uniform.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>

#include "ops/internal/rules.h"
#include "random/checks.h"
#include "random/primitives.h"

namespace farcall::random {
namespace {

DType unsigned_dtype(int bits) {
  return bits == 8    ? DType::kUInt8
         : bits == 16 ? DType::kUInt16
         : bits == 32 ? DType::kUInt32
                      : DType::kUInt64;
}

// True if x is this number of the host language, not an array with that value.
bool is_number(const Array& x, double value) {
  const auto* scalar = dynamic_cast<const ScalarNode*>(&x.node());
  if (!scalar) return false;
  if (const auto* integer = std::get_if<int64_t>(&scalar->number())) {
    return static_cast<double>(*integer) == value;
  }
  const auto* real = std::get_if<double>(&scalar->number());
  return real && *real == value;
}

// ---- integers

struct Limits {
  int64_t lowest;
  uint64_t highest;
};

Limits limits_of(DType dtype) {
  const DTypeInfo& info = dtype_info(dtype);
  if (info.kind == DTypeKind::kUnsigned) return {0, ~uint64_t{0} >> (64 - info.bits)};
  const uint64_t highest = (uint64_t{1} << (info.bits - 1)) - 1;
  return {-static_cast<int64_t>(highest) - 1, highest};
}

// An integer of `dtype` with these low bits.
Array integer(DType dtype, uint64_t value) {
  const Array whole = Array::scalar(value);
  InterpreterScope scope(evaluator());
  return lax::convert_element_type(whole, dtype);
}

// A bound of an integer range, clamped to the range of `dtype` and converted.
Array clipped(const Array& bound, DType dtype) {
  const Limits from = limits_of(bound.dtype()), to = limits_of(dtype);
  const int64_t lowest = std::max(from.lowest, to.lowest);
  const uint64_t highest = std::min(from.highest, to.highest);
  const Array inside = lax::clamp(integer(bound.dtype(), static_cast<uint64_t>(lowest)), bound,
                                  integer(bound.dtype(), highest));
  return lax::convert_element_type(inside, dtype);
}

Array whole(const Array& bound) {
  if (is_floating(bound.dtype()) || bound.dtype() == DType::kBool) {
    return lax::convert_element_type(bound, DType::kInt64);
  }
  if (!is_integer(bound.dtype())) {
    throw TypeError(fmt::format("randint: minval and maxval must be integers, got {}",
                                bound.type().to_string()));
  }
  return bound;
}

Array broadcast(const Array& x, std::span<const int64_t> shape) {
  return x.rank() == 0 ? x : in_shape(x, shape);
}

// Numbers of n = 32 or 64 bits below `span`, where 0 means 2^n. Draws 2 n bits, h 2^n + l, so that
// the remainder is nearly uniform.
Array below(const Array& key, std::span<const int64_t> shape, const Array& span) {
  const int bits = dtype_info(span.dtype()).bits;
  const Array high = random_bits(subkey(key, 0), bits, shape);
  const Array low = random_bits(subkey(key, 1), bits, shape);
  const Array half = lax::rem(integer(span.dtype(), uint64_t{1} << (bits / 2)), span);
  const Array multiplier = lax::rem(lax::mul(half, half), span);
  const Array sum = lax::add(lax::mul(lax::rem(high, span), multiplier), lax::rem(low, span));
  return lax::rem(sum, span);
}

}  // namespace

Array unit_interval(const Array& key, std::span<const int64_t> shape, DType dtype) {
  const FloatForm form = float_form("uniform", dtype);
  const int drawn = form.mantissa < 8 ? 8 : form.bits;
  const DType words = unsigned_dtype(form.bits);
  // Random mantissa bits with the exponent of 1 give a number in [1, 2).
  const Array bits = lax::convert_element_type(random_bits(key, drawn, shape), words);
  const Array mantissa =
      lax::shift_right_logical(bits, integer(words, static_cast<uint64_t>(drawn - form.mantissa)));
  const Array one = scalar_of(dtype, 1);
  uint64_t pattern = 0;
  std::memcpy(&pattern, one.data(), byte_width(dtype));
  const Array number = lax::bitwise_or(mantissa, integer(words, pattern));
  return lax::sub(lax::bitcast_convert_type(number, dtype), one);
}

Array between(const Array& key, std::span<const int64_t> shape, DType dtype, double low,
              double high) {
  const Array first = scalar_of(dtype, low), last = scalar_of(dtype, high);
  return uniform(key, shape, dtype, first, last);
}

Array exponential_samples(const Array& key, std::span<const int64_t> shape, DType dtype) {
  return lax::neg(lax::log1p(lax::neg(unit_interval(key, shape, dtype))));
}

Array bits(const Array& key, ListOf<int64_t> shape, DType dtype) {
  const Array typed = one_key("bits", key);
  const DTypeInfo& info = dtype_info(dtype);
  if (info.kind != DTypeKind::kUnsigned || info.bits < 8) {
    invalid_argument(
        fmt::format("bits: dtype must be an unsigned integer of 8, 16, 32 or 64 bits, got "
                    "{}",
                    info.name));
  }
  return random_bits(typed, info.bits, checked_shape("bits", shape));
}

Array uniform(const Array& key, ListOf<int64_t> shape, DType dtype, const Array& minval,
              const Array& maxval) {
  const Array typed = one_key("uniform", key);
  check_float("uniform", dtype);
  const Shape size =
      common_shape("uniform", Shape(shape.begin(), shape.end()), {minval.shape(), maxval.shape()});
  Array unit = unit_interval(typed, size, dtype);
  if (is_number(minval, 0) && is_number(maxval, 1)) return unit;
  const auto bound = [&](const Array& x) { return broadcast(in_dtype(x, dtype), size); };
  const Array low = bound(minval), high = bound(maxval);
  return lax::max(low, lax::add(lax::mul(unit, lax::sub(high, low)), low));
}

Array randint(const Array& key, ListOf<int64_t> shape, const Array& minval, const Array& maxval,
              DType dtype) {
  const Array typed = one_key("randint", key);
  if (!is_integer(dtype)) {
    throw TypeError(fmt::format("randint: dtype must be an integer, got {}", dtype_name(dtype)));
  }
  const Shape size =
      common_shape("randint", Shape(shape.begin(), shape.end()), {minval.shape(), maxval.shape()});
  // Narrow integers are drawn with 32 bits: remainders of fewer bits would be biased.
  const bool is_narrow = dtype_info(dtype).bits < 32;
  const DType drawn = is_narrow ? DType::kInt32 : dtype;
  Array low = whole(minval), high = whole(maxval);
  if (is_narrow) {
    const Limits limits = limits_of(dtype);
    const auto inside = [&](const Array& x, uint64_t highest) {
      return lax::clamp(integer(drawn, static_cast<uint64_t>(limits.lowest)), clipped(x, drawn),
                        integer(drawn, highest));
    };
    low = inside(low, limits.highest);
    high = inside(high, limits.highest + 1);
  }
  const uint64_t most = std::min(limits_of(drawn).highest, limits_of(high.dtype()).highest);
  const Array is_past_all = broadcast(lax::gt(high, integer(high.dtype(), most)), size);
  low = broadcast(clipped(low, drawn), size);
  high = broadcast(clipped(high, drawn), size);
  const DType words = unsigned_dtype(dtype_info(drawn).bits);
  const Array one = integer(words, 1);
  const auto select = [](const Array& which, const Array& no, const Array& yes) {
    return numpy::where(which, yes, no);
  };
  const Array is_range = numpy::greater(high, low);
  Array span = lax::convert_element_type(numpy::subtract(high, low), words);
  span = select(is_range, one, span);
  span = select(numpy::logical_and(is_past_all, is_range), span, numpy::add(span, one));
  const Array offset = below(typed, size, span);
  return lax::convert_element_type(lax::add(low, lax::convert_element_type(offset, drawn)), dtype);
}

Array bernoulli(const Array& key, const Array& p, const OptionalShape& shape,
                std::string_view mode) {
  const Array typed = one_key("bernoulli", key);
  if (mode != "low" && mode != "high") {
    invalid_argument(fmt::format("bernoulli: mode must be \"low\" or \"high\", got \"{}\"", mode));
  }
  if (!is_floating(p.dtype())) {
    throw TypeError(fmt::format("bernoulli: p must be a float, got {}", p.type().to_string()));
  }
  const Shape size = common_shape("bernoulli", shape, {p.shape()});
  const DType dtype = p.type().weak_type() ? default_float() : p.dtype();
  const Array chance = in_dtype(p, dtype);
  if (mode == "low") return numpy::less(unit_interval(typed, size, dtype), chance);
  const Array both = unit_interval(typed, joined<Shape>({{2}}, size), dtype);
  const Array first = numpy::take(both, {int64_t{0}}), second = numpy::take(both, {int64_t{1}});
  const int digits = float_form("bernoulli", dtype).mantissa;
  return numpy::less(lax::mul(second, scalar_of(dtype, std::ldexp(1.0, -digits))),
                     numpy::subtract(chance, first));
}

Array rademacher(const Array& key, ListOf<int64_t> shape, DType dtype) {
  const Array typed = one_key("rademacher", key);
  if (!is_integer(dtype) && !is_floating(dtype) && !is_complex(dtype)) {
    invalid_argument(
        fmt::format("rademacher: dtype must be of numbers, got {}", dtype_name(dtype)));
  }
  const Array is_up = bernoulli(typed, 0.5, checked_shape("rademacher", shape));
  const Array zero_or_one = lax::convert_element_type(is_up, dtype);
  return lax::sub(lax::mul(scalar_of(dtype, 2), zero_or_one), scalar_of(dtype, 1));
}

}  // namespace farcall::random
