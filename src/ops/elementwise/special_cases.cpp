// Functions that need special cases where a formula is undefined or inaccurate. The derivatives are
// correct in these cases too.
#include <farcall/ops/special_cases.h>

#include <array>
#include <limits>
#include <numbers>
#include <span>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/custom.h>

#include "ops/internal/numpy.h"
#include "ops/internal/rules.h"

namespace farcall {
namespace {

using namespace lax;
using A = const Array&;

Array choose_scalar_or_all(A which, A if_true, A if_false) {
  const Shape shape = to_shape(which.shape());
  return select_n(which,
                  std::array{broadcast_scalar(if_false, shape), broadcast_scalar(if_true, shape)});
}
Array is_zero(A x) { return eq(x, like(x, 0)); }
Array is_nan(A x) { return ne(x, x); }

// c0 + c1 x + c2 x^2 + …
Array polynomial(A x, std::span<const double> coefficients) {
  Array sum = like(x, coefficients.back());
  for (size_t i = coefficients.size() - 1; i-- > 0;) {
    sum = add(mul(sum, x), like(x, coefficients[i]));
  }
  return sum;
}

// Two numbers, ordered by size. They are selected and not computed with max and min: if the numbers
// are equal, max and min would give each of them half of the derivative. With the selection, smooth
// symmetric functions of both have the right derivatives of all orders.
struct BySize {
  Array larger, smaller;
};
BySize by_size(A x, A y) {
  const Array is_less = numpy::less(x, y);
  return {choose_scalar_or_all(is_less, y, x), choose_scalar_or_all(is_less, x, y)};
}

// Reduces the imaginary part of a complex number to [-half_turn, half_turn).
Array turned_back(A x, double half_turn) {
  if (!is_complex(x.dtype())) return x;
  const Array angle = imag(x);
  const Array turned =
      numpy::remainder(add(angle, like(angle, half_turn)), like(angle, 2 * half_turn));
  return complex(real(x), sub(turned, like(angle, half_turn)));
}

// Divides x by a number; for complex x, divides both parts.
Array in_units(A x, double unit) {
  if (!is_complex(x.dtype())) return div(x, like(x, unit));
  const Array parts[] = {real(x), imag(x)};
  return complex(div(parts[0], like(parts[0], unit)), div(parts[1], like(parts[1], unit)));
}

// larger + rest(smaller - larger). The difference of equal infinities is 0.
template <class Rest>
Array log_add(A x, A y, Rest rest) {
  const auto [larger, smaller] = by_size(x, y);
  const Array difference = sub(smaller, larger);
  const Array is_same_infinity = bitwise_and(eq(smaller, larger), is_nan(difference));
  return add(larger, rest(choose_scalar_or_all(is_same_infinity, like(x, 0), difference)));
}

// Promotes both to inexact values of one dtype and one shape.
std::pair<Array, Array> operands(A x, A y, std::string_view function) {
  const auto [a, b] = numpy::promote_inexact(x, y, function);
  const Shape shape = to_shape((a.rank() == 0 ? b : a).shape());
  return {broadcast_scalar(a, shape), broadcast_scalar(b, shape)};
}

}  // namespace

namespace numpy {

Array hypot(const Array& x, const Array& y) {
  const auto [first, second] = operands(x, y, "hypot");
  numpy::refuse_complex(first, "hypot");
  const Array a = lax::abs(first), b = lax::abs(second);
  const auto [larger, smaller] = by_size(a, b);
  const Array is_point = is_zero(larger);
  const Array ratio = div(smaller, choose_scalar_or_all(is_point, like(a, 1), larger));
  const Array length = mul(larger, lax::sqrt(add(like(a, 1), integer_pow(ratio, 2))));
  const Array infinity = like(a, std::numeric_limits<double>::infinity());
  const Array is_infinite = bitwise_or(eq(a, infinity), eq(b, infinity));
  // hypot has no derivative at the origin. (|x| + |y|) / 2 has the same value there, and a
  // derivative.
  const Array known = choose_scalar_or_all(is_point, mul(add(a, b), like(a, 0.5)), length);
  return choose_scalar_or_all(is_infinite, infinity, known);
}

Array logaddexp(const Array& x, const Array& y) {
  const auto [a, b] = operands(x, y, "logaddexp");
  const Array sum = log_add(a, b, [](A difference) { return lax::log1p(lax::exp(difference)); });
  return turned_back(sum, std::numbers::pi);
}

Array logaddexp2(const Array& x, const Array& y) {
  const auto [a, b] = operands(x, y, "logaddexp2");
  const Array sum = log_add(a, b, [](A difference) {
    return in_units(lax::log1p(lax::exp2(difference)), std::numbers::ln2);
  });
  return turned_back(sum, std::numbers::pi / std::numbers::ln2);
}

// Uses the Taylor series near zero, because derivatives of the quotient suffer from cancellation
// there.
Array sinc(const Array& x) {
  static constexpr double kSeries[] = {
      1.0,          -1.0 / 6,        1.0 / 120,        -1.0 / 5040,
      1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000};
  const Array inexact = promote_inexact(x, "sinc");
  const Array angle = mul(inexact, like(inexact, std::numbers::pi));
  const Array size = lax::abs(angle);
  const Array is_near = lt(size, like(size, 0.5));
  const Array near = choose_scalar_or_all(is_near, angle, like(angle, 0));
  // sinpi is exactly zero at integers; sin of the rounded product with pi is not.
  const Array far = choose_scalar_or_all(is_near, like(inexact, 1), inexact);
  const Array far_angle = mul(far, like(far, std::numbers::pi));
  const Array sine = is_complex(far.dtype()) ? lax::sin(far_angle) : lax::sinpi(far);
  return choose_scalar_or_all(is_near, polynomial(mul(near, near), kSeries), div(sine, far_angle));
}

}  // namespace numpy

namespace special {
namespace {

using Logarithm = Array (*)(A);

// The derivative with respect to y is 0 if x is 0, even where the logarithm is infinite.
template <Logarithm logarithm>
JvpResults product_jvp(std::span<const Array> primals, std::span<const Array> tangents) {
  const Array &x = primals[0], &y = primals[1];
  Array by_x, by_y;
  if (!tangents[0].is_null()) by_x = mul(tangents[0], logarithm(y));
  if (!tangents[1].is_null()) {
    const Array from_end = logarithm == lax::log ? y : add(y, like(y, 1));
    const Array is_undefined = bitwise_and(is_zero(x), is_zero(from_end));
    by_y = mul(tangents[1], div(x, choose_scalar_or_all(is_undefined, like(y, 1), from_end)));
  }
  const Array result = logarithm == lax::log ? xlogy(x, y) : xlog1py(x, y);
  return with_tangent(result, {by_x, by_y});
}

template <Logarithm logarithm>
Array product_with_logarithm(A x, A y, const char* name) {
  static const auto kCall = [&] {
    auto call = std::make_shared<CustomCall>();
    call->name = name;
    call->function = [](std::span<const Array> inputs) {
      const Array &a = inputs[0], &b = inputs[1];
      const Array is_left_out = bitwise_and(is_zero(a), eq(b, b));
      return std::vector<Array>{
          choose_scalar_or_all(is_left_out, like(a, 0), mul(a, logarithm(b)))};
    };
    call->jvp = product_jvp<logarithm>;
    return call;
  }();
  const auto [a, b] = operands(x, y, name);
  return call_custom(kCall, std::array{a, b})[0];
}

// (exp(p log(x)) - 1) / p, and log(x) where p is 0.
Array power_less_one(A log_x, A p) {
  // The series of (exp(z) - 1) / z near zero, where derivatives of the quotient suffer from
  // cancellation.
  static constexpr auto kSeries = [] {
    std::array<double, 16> terms{};
    double factorial = 1;
    for (size_t i = 0; i < terms.size(); ++i)
      terms[i] = 1 / (factorial *= static_cast<double>(i + 1));
    return terms;
  }();
  const Array product = mul(p, log_x);
  const Array is_small = lt(lax::abs(product), like(p, 0.5));
  const Array is_near = bitwise_or(is_small, is_zero(p));
  const Array near =
      mul(log_x, polynomial(choose_scalar_or_all(is_small, product, like(p, 0)), kSeries));
  const Array far_product = choose_scalar_or_all(is_near, like(p, 1), product);
  const Array far = div(lax::expm1(far_product), choose_scalar_or_all(is_near, like(p, 1), p));
  return choose_scalar_or_all(is_near, near, far);
}

}  // namespace

Array xlogy(const Array& x, const Array& y) {
  return product_with_logarithm<lax::log>(x, y, "xlogy");
}
Array xlog1py(const Array& x, const Array& y) {
  return product_with_logarithm<lax::log1p>(x, y, "xlog1py");
}

Array entr(const Array& x) {
  static const auto kCall = [] {
    auto call = std::make_shared<CustomCall>();
    call->name = "entr";
    call->function = [](std::span<const Array> inputs) {
      const Array& a = inputs[0];
      const Array lowest = like(a, -std::numeric_limits<double>::infinity());
      const Array product = choose_scalar_or_all(is_zero(a), like(a, 0), neg(mul(a, lax::log(a))));
      return std::vector<Array>{choose_scalar_or_all(lt(a, like(a, 0)), lowest, product)};
    };
    call->jvp = [](std::span<const Array> primals, std::span<const Array> tangents) {
      const Array& a = primals[0];
      const Array slope = neg(add(lax::log(a), like(a, 1)));
      return with_tangent(entr(a), {mul(tangents[0], slope)});
    };
    return call;
  }();
  const Array inexact = numpy::promote_inexact(x, "entr");
  numpy::refuse_complex(inexact, "entr");
  return call_custom(kCall, std::span(&inexact, 1))[0];
}

Array boxcox(const Array& x, const Array& p) {
  const auto [a, b] = operands(x, p, "boxcox");
  return power_less_one(lax::log(a), b);
}
Array boxcox1p(const Array& x, const Array& p) {
  const auto [a, b] = operands(x, p, "boxcox1p");
  return power_less_one(lax::log1p(a), b);
}

}  // namespace special
}  // namespace farcall
