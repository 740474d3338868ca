// numpy's elementwise functions.
#include <algorithm>
#include <array>
#include <cstdint>
#include <numbers>
#include <optional>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/core/message.h>
#include <farcall/ops/lax.h>

#include "ops/internal/numpy.h"
#include "ops/internal/rules.h"

namespace farcall::numpy {
namespace {

Array broadcast_all_scalars(const Array& x, std::span<const int64_t> shape) {
  return x.rank() == 0 && !shape.empty() ? lax::broadcast_in_dim(x, shape, {}) : x;
}

// Warns or raises for operands of different ranks (except scalars), as the flag
// numpy_rank_promotion says.
void check_ranks(std::span<const std::span<const int64_t>> shapes, std::string_view function) {
  if (!is_on(Flag::kNumpyRankPromotion)) return;
  size_t rank = 0;
  for (const std::span<const int64_t> shape : shapes) {
    if (rank == 0) rank = shape.size();
    if (shape.empty() || shape.size() == rank) continue;
    std::string text;
    for (const auto each : shapes) text += (text.empty() ? "" : ", ") + shape_to_string(each);
    const auto rule = static_cast<RankPromotion>(flag_value(Flag::kNumpyRankPromotion));
    const std::string message = fmt::format(
        "operands of shapes {} have different ranks, and the flag numpy_rank_promotion is \"{}\". "
        "Make the ranks equal with reshape or expand_dims",
        text, rule == RankPromotion::kRaise ? "raise" : "warn");
    if (rule == RankPromotion::kRaise) invalid_argument(message);
    return send_message(MessageKind::kWarning, fmt::format("{}: {}", function, message));
  }
}

std::pair<Array, Array> meet(const Array& x, const Array& y, std::string_view function,
                             PromotedDType (*promoted)(std::span<const ShapeDtype>)) {
  return with_error_prefix(function, [&]() -> std::pair<Array, Array> {
    const std::array<ShapeDtype, 2> types = {x.type(), y.type()};
    const PromotedDType to = promoted(types);
    Array a = convert(x, to), b = convert(y, to);
    if (a.rank() == 0 || b.rank() == 0 || std::ranges::equal(a.shape(), b.shape())) {
      return {std::move(a), std::move(b)};
    }
    const std::span<const int64_t> shapes[] = {a.shape(), b.shape()};
    check_ranks(shapes, function);
    const Shape shape = broadcast_shapes(shapes);
    return {broadcast_operand(a, shape), broadcast_operand(b, shape)};
  });
}

template <auto op>
Array unary_inexact(const Array& x, std::string_view function) {
  return op(promote_inexact(x, function));
}

template <auto op>
Array arithmetic_binary(const Array& x, const Array& y, std::string_view function) {
  const auto [a, b] = promote(x, y, function);
  return op(a, b);
}

// Complex numbers are ordered by real part, then by imaginary part.
template <auto op>
Array ordered(const Array& x, const Array& y, std::string_view function) {
  const auto [a, b] = promote(x, y, function);
  if (!is_complex(a.dtype())) return op(a, b);
  const Array cases[] = {op(lax::real(a), lax::real(b)), op(lax::imag(a), lax::imag(b))};
  return lax::select_n(lax::eq(lax::real(a), lax::real(b)), cases);
}

// Promotes the operands; two bools become integers.
std::pair<Array, Array> promote_counted(const Array& x, const Array& y, std::string_view function) {
  const auto [a, b] = promote(x, y, function);
  return {counted(a), counted(b)};
}

bool is_nonzero_number(const Array& x) {
  const auto* scalar = dynamic_cast<const ScalarNode*>(&x.node());
  return scalar &&
         std::visit([](auto number) { return number != decltype(number)(0); }, scalar->number());
}

// The value of a concrete scalar of bools or integers, if it fits into int64.
std::optional<int64_t> known_exponent(const Array& y) {
  const bool is_whole = is_integer(y.dtype()) || y.dtype() == DType::kBool;
  if (y.rank() != 0 || !is_whole || !y.is_concrete()) return {};
  if (y.dtype() == DType::kUInt64 && y.item<uint64_t>() > INT64_MAX) return {};
  return integer_values(y)[0];
}

}  // namespace

void refuse_complex(const Array& x, std::string_view function) {
  if (!is_complex(x.dtype())) return;
  invalid_argument(fmt::format("{}: is not defined for complex numbers, got {}", function,
                               x.type().to_string()));
}

Array number_like(const Array& x, double value) {
  return convert(Array(value), {x.dtype(), x.type().weak_type()});
}

Array as_bool(const Array& x) {
  if (x.dtype() == DType::kBool) return x;
  // A conversion of complex numbers would drop the imaginary part.
  return is_complex(x.dtype()) ? lax::ne(x, number_like(x, 0))
                               : lax::convert_element_type(x, DType::kBool);
}

Array counted(const Array& x) {
  return x.dtype() == DType::kBool ? lax::convert_element_type(x, default_int()) : x;
}

Array broadcast_operand(const Array& x, std::span<const int64_t> shape) {
  return x.rank() == 0 ? x : broadcast_to(x, shape);
}

std::pair<Array, Array> promote(const Array& x, const Array& y, std::string_view function) {
  return meet(x, y, function, promote_types);
}
std::pair<Array, Array> promote_inexact(const Array& x, const Array& y, std::string_view function) {
  return meet(x, y, function, promote_to_inexact);
}
Array promote_inexact(const Array& x, std::string_view function) {
  const ShapeDtype type = x.type();
  return with_error_prefix(function, [&] { return convert(x, promote_to_inexact({&type, 1})); });
}

#define FARCALL_NUMPY_UNARY(name, function, summary) \
  Array name(const Array& x) { return unary_inexact<lax::function>(x, #name); }
#define FARCALL_NUMPY_BINARY(name, function, summary)     \
  Array name(const Array& x, const Array& y) {            \
    return arithmetic_binary<lax::function>(x, y, #name); \
  }
#include <farcall/ops/elementwise_list.h>

Array divide(const Array& x, const Array& y) {
  const auto [a, b] = promote_inexact(x, y, "divide");
  return lax::div(a, b);
}

Array arctan2(const Array& x, const Array& y) {
  const auto [a, b] = promote_inexact(x, y, "arctan2");
  if (!is_complex(a.dtype())) return lax::atan2(a, b);
  // -i log((y + i x) / sqrt(x^2 + y^2)); x is the first argument.
  const Array i = convert(Array::weak(std::complex<double>(0, 1)), {a.dtype(), false});
  const Array length = lax::sqrt(lax::add(lax::mul(a, a), lax::mul(b, b)));
  return lax::neg(lax::mul(i, lax::log(lax::div(lax::add(b, lax::mul(i, a)), length))));
}

Array remainder(const Array& x, const Array& y) {
  // The remainder of an integer division by zero is zero, as in numpy.
  const auto one_for_zero = [](const Array& b) {
    const Array cases[] = {b, full(b.shape(), number_like(b, 1))};
    return lax::select_n(lax::eq(b, number_like(b, 0)), cases);
  };
  auto [a, b] = promote_counted(x, y, "remainder");
  if (is_integer(b.dtype()) && !is_nonzero_number(y)) b = one_for_zero(b);
  const Array truncated = lax::rem(a, b);
  const Array zero = number_like(b, 0);
  // rem() has the sign of the dividend. Adds the divisor if it has another sign.
  const Array differs = lax::bitwise_and(lax::ne(truncated, zero),
                                         lax::ne(lax::lt(truncated, zero), lax::lt(b, zero)));
  const Array cases[] = {truncated, lax::add(truncated, b)};
  const Shape shape(truncated.shape().begin(), truncated.shape().end());
  const Array full[] = {cases[0], broadcast_all_scalars(cases[1], shape)};
  return lax::select_n(differs, full);
}

Array floor_divide(const Array& x, const Array& y) {
  const auto [a, b] = promote_counted(x, y, "floor_divide");
  if (dtype_info(a.dtype()).kind == DTypeKind::kUnsigned) return lax::div(a, b);
  if (is_floating(a.dtype()) && byte_width(a.dtype()) < sizeof(float)) {
    // The steps below would round too often.
    const auto wide = [](const Array& x) { return lax::convert_element_type(x, DType::kFloat32); };
    return lax::convert_element_type(floor_divide(wide(a), wide(b)), a.dtype());
  }
  if (is_floating(a.dtype())) {
    // Subtracts the remainder first, so that the quotient is an integer up to rounding.
    const Array rest = lax::rem(a, b);
    const Array quotient = lax::div(lax::sub(a, rest), b);
    const Array is_below = lax::bitwise_and(lax::ne(rest, number_like(rest, 0)),
                                            lax::ne(lax::sign(rest), lax::sign(b)));
    const Array cases[] = {quotient, lax::sub(quotient, number_like(quotient, 1))};
    Array whole = lax::round(lax::select_n(is_below, cases), 1);
    if (is_nonzero_number(y)) return whole;
    const Array by_zero[] = {whole, lax::div(a, b)};
    return lax::select_n(broadcast_all_scalars(lax::eq(b, number_like(b, 0)), whole.shape()),
                         by_zero);
  }
  const Array quotient = lax::div(a, b);
  const Array remains = lax::ne(lax::rem(a, b), number_like(a, 0));
  const Array is_below = lax::bitwise_and(lax::ne(lax::sign(a), lax::sign(b)), remains);
  const Array cases[] = {quotient, lax::sub(quotient, number_like(quotient, 1))};
  return lax::select_n(is_below, cases);
}

Array power(const Array& x, const Array& y) {
  // Known integer exponents are computed by multiplication, and do not change the dtype.
  if (const std::optional<int64_t> exponent = known_exponent(y)) {
    const Array base = x.dtype() == DType::kBool ? lax::convert_element_type(x, DType::kInt32) : x;
    if (is_inexact(base.dtype()) || *exponent >= 0) return lax::integer_pow(base, *exponent);
    throw TypeError(
        fmt::format("power: {} cannot be raised to the negative power {}, as integers "
                    "have no inverse; use a float for either",
                    x.type().to_string(), *exponent));
  }
  const auto [a, b] = promote_counted(x, y, "power");
  // As in JAX, a weakly typed base becomes strong with exponents that are not, also with integers.
  const bool is_strong = is_integer(y.dtype()) && !y.type().weak_type();
  return lax::pow(is_strong ? strengthen(a) : a, is_strong ? strengthen(b) : b);
}

Array negative(const Array& x) { return lax::neg(x); }
Array positive(const Array& x) { return x; }
Array absolute(const Array& x) { return x.dtype() == DType::kBool ? x : lax::abs(x); }
Array sign(const Array& x) { return lax::sign(x); }
Array square(const Array& x) { return lax::integer_pow(counted(x), 2); }

Array clip(const Array& x, const std::optional<Array>& low, const std::optional<Array>& high) {
  Array result = x;
  if (low) result = maximum(result, *low);
  if (high) result = minimum(result, *high);
  return result;
}

namespace {

// Integers and bools are returned unchanged.
template <auto op>
Array rounded(const Array& x) {
  const bool is_whole = is_integer(x.dtype()) || x.dtype() == DType::kBool;
  return is_whole ? x : op(x);
}
}  // namespace

Array floor(const Array& x) { return rounded<lax::floor>(x); }
Array ceil(const Array& x) { return rounded<lax::ceil>(x); }
Array rint(const Array& x) {
  if (is_complex(x.dtype())) return lax::complex(rint(lax::real(x)), rint(lax::imag(x)));
  const bool is_whole = is_integer(x.dtype()) || x.dtype() == DType::kBool;
  return is_whole ? lax::convert_element_type(x, default_float()) : lax::round(x, 1);
}

namespace {

// The logarithm to another base. For complex numbers, divides both parts of the natural logarithm
// by `unit`, the logarithm of the base.
template <auto op>
Array log_by(const Array& x, double unit, std::string_view function) {
  const Array a = strengthen(promote_inexact(x, function));
  if (!is_complex(a.dtype())) return op(a);
  const Array logarithm = lax::log(a);
  const Array parts[] = {lax::real(logarithm), lax::imag(logarithm)};
  return lax::complex(lax::div(parts[0], number_like(parts[0], unit)),
                      lax::div(parts[1], number_like(parts[1], unit)));
}

}  // namespace

Array log2(const Array& x) { return log_by<lax::log2>(x, std::numbers::ln2, "log2"); }
Array log10(const Array& x) { return log_by<lax::log10>(x, std::numbers::ln10, "log10"); }

Array isfinite(const Array& x) {
  if (is_complex(x.dtype())) {
    return lax::bitwise_and(lax::is_finite(lax::real(x)), lax::is_finite(lax::imag(x)));
  }
  return lax::is_finite(promote_inexact(x, "isfinite"));
}
Array isnan(const Array& x) {
  const Array inexact = promote_inexact(x, "isnan");
  return lax::ne(inexact, inexact);
}
Array isinf(const Array& x) {
  if (is_complex(x.dtype())) return lax::bitwise_or(isinf(lax::real(x)), isinf(lax::imag(x)));
  const Array inexact = promote_inexact(x, "isinf");
  return lax::bitwise_not(lax::bitwise_or(lax::is_finite(inexact), lax::ne(inexact, inexact)));
}

Array real(const Array& x) { return is_complex(x.dtype()) ? lax::real(x) : x; }
Array imag(const Array& x) {
  return is_complex(x.dtype()) ? lax::imag(x) : full(x.shape(), number_like(x, 0));
}
Array conjugate(const Array& x) { return is_complex(x.dtype()) ? lax::conj(x) : x; }

Array less(const Array& x, const Array& y) { return ordered<lax::lt>(x, y, "less"); }
Array less_equal(const Array& x, const Array& y) { return ordered<lax::le>(x, y, "less_equal"); }
Array greater(const Array& x, const Array& y) { return ordered<lax::gt>(x, y, "greater"); }
Array greater_equal(const Array& x, const Array& y) {
  return ordered<lax::ge>(x, y, "greater_equal");
}

Array logical_and(const Array& x, const Array& y) {
  return arithmetic_binary<lax::bitwise_and>(as_bool(x), as_bool(y), "logical_and");
}
Array logical_or(const Array& x, const Array& y) {
  return arithmetic_binary<lax::bitwise_or>(as_bool(x), as_bool(y), "logical_or");
}
Array logical_xor(const Array& x, const Array& y) {
  return arithmetic_binary<lax::bitwise_xor>(as_bool(x), as_bool(y), "logical_xor");
}
Array logical_not(const Array& x) { return lax::bitwise_not(as_bool(x)); }
Array bitwise_not(const Array& x) { return lax::bitwise_not(x); }
Array left_shift(const Array& x, const Array& y) {
  const auto [a, b] = promote_counted(x, y, "left_shift");
  return lax::shift_left(a, b);
}
Array right_shift(const Array& x, const Array& y) {
  const auto [a, b] = promote_counted(x, y, "right_shift");
  return dtype_info(a.dtype()).kind == DTypeKind::kUnsigned ? lax::shift_right_logical(a, b)
                                                            : lax::shift_right_arithmetic(a, b);
}

namespace {

std::pair<Array, Array> whole_numbers(const Array& x, const Array& y, std::string_view function) {
  const auto [a, b] = promote(x, y, function);
  if (is_integer(a.dtype())) return {a, b};
  invalid_argument(fmt::format("{}: takes integers, got {} and {}", function,
                               dtype_info(x.dtype()).name, dtype_info(y.dtype()).name));
}

}  // namespace

Array gcd(const Array& x, const Array& y) {
  const auto [a, b] = whole_numbers(x, y, "gcd");
  return lax::gcd(a, b);
}

Array lcm(const Array& x, const Array& y) {
  const auto [a, b] = whole_numbers(x, y, "lcm");
  const Array divisor = lax::max(lax::gcd(a, b), number_like(a, 1));
  return lax::abs(lax::mul(lax::div(a, divisor), b));
}

Array where(const Array& condition, const Array& x, const Array& y) {
  const auto [a, b] = promote(x, y, "where");
  const Array chosen = as_bool(condition);
  const std::span<const int64_t> shapes[] = {chosen.shape(), a.shape(), b.shape()};
  const Shape shape = with_error_prefix("where", [&] {
    check_ranks(shapes, "where");
    return broadcast_shapes(shapes);
  });
  const Array cases[] = {broadcast_operand(b, shape), broadcast_operand(a, shape)};
  return lax::select_n(broadcast_operand(chosen, shape), cases);
}

}  // namespace farcall::numpy
