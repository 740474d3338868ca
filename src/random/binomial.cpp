// Binomial and multinomial samples.
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <farcall/ops/cumulative.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/loops.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/promotion.h>
#include <farcall/trace/jit.h>

#include "ops/internal/rules.h"
#include "random/checks.h"
#include "random/primitives.h"
#include "random/uniform.h"

namespace farcall::random {
namespace {

struct Trials {
  Array count, sum, key;
};
FARCALL_TREE(Trials, count, sum, key);

struct AcceptedCount {
  Array count, is_accepted, key;
};
FARCALL_TREE(AcceptedCount, count, is_accepted, key);

// For few successes: sums geometric samples until they exceed n; their number is the number of
// successes.
Array binomial_by_sums(const Array& key, const Array& n, const Array& p) {
  const Array log_failure = lax::log1p(lax::neg(p));
  const auto goes_on = [&](const Trials& now) { return lax::le(now.sum, n); };
  const Array zeros = numpy::zeros_like(n);
  const Trials last = lax::while_loop(
      [&](const Trials& now) { return numpy::any(goes_on(now)); },
      [&](const Trials& now) {
        const Array u = unit_interval(subkey(now.key, 0), n.shape(), n.dtype());
        return Trials{numpy::where(goes_on(now), now.count + 1.0, now.count),
                      now.sum + lax::ceil(lax::log(u) / log_failure), subkey(now.key, 1)};
      },
      Trials{zeros, zeros, key});
  return last.count - 1.0;
}

// log(k!) minus its Stirling approximation.
Array stirling_tail(const Array& k) {
  constexpr std::array<double, 10> kFirst = {
      0.0810614667953272,  0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
      0.0166446911898211,  0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
      0.00925546218271273, 0.00833056343336287};
  const Array small = numpy::clip(k, 0.0, 9.0);
  const Array above = (small + 1.0) * (small + 1.0);
  Array found = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / above) / above) / (small + 1.0);
  // A lookup table in the dtype of k.
  const Array table = in_dtype(
      Array::of(std::span<const double>(kFirst), std::array{std::ssize(kFirst)}), k.dtype());
  const Array position = lax::convert_element_type(lax::floor(small), DType::kInt32);
  return numpy::where(k <= 9.0, numpy::take(table, {position}), found);
}

// W. Hoermann, "The generation of binomial random variates" (Journal of Statistical Computation and
// Simulation, 1993): transformed rejection with squeezing. For many successes.
Array binomial_by_rejection(const Array& key, const Array& n, const Array& p) {
  const Array deviation = lax::sqrt(n * p * (1.0 - p));
  const Array b = 1.15 + 2.53 * deviation;
  const Array a = -0.0873 + 0.0248 * b + 0.01 * p;
  const Array c = n * p + 0.5;
  const Array v_r = 0.92 - 4.2 / b;
  const Array r = p / (1.0 - p);
  const Array alpha = (2.83 + 5.1 / b) * deviation;
  const Array m = lax::floor((n + 1.0) * p);
  const auto propose = [&](const AcceptedCount& now) {
    const Array u = unit_interval(subkey(now.key, 1), n.shape(), n.dtype()) - 0.5;
    const Array v = unit_interval(subkey(now.key, 2), n.shape(), n.dtype());
    const Array us = 0.5 - lax::abs(u);
    const Array k = lax::floor((2.0 * a / us + b) * u + c);
    const Array log_v = lax::log(v * alpha / (a / (us * us) + b));
    const Array bound = (m + 0.5) * lax::log((m + 1.0) / (r * (n - m + 1.0))) +
                        (n + 1.0) * lax::log((n - m + 1.0) / (n - k + 1.0)) +
                        (k + 0.5) * lax::log(r * (n - k + 1.0) / (k + 1.0)) + stirling_tail(m) +
                        stirling_tail(n - m) - stirling_tail(k) - stirling_tail(n - k);
    const Array is_inside = (us >= 0.07) & (v <= v_r);
    const Array is_outside = (k < 0.0) | (k > n);
    const Array is_accepted = is_inside | (~is_outside & (log_v <= bound));
    return AcceptedCount{numpy::where(is_accepted, k, now.count), now.is_accepted | is_accepted,
                         subkey(now.key, 0)};
  };
  const AcceptedCount init{numpy::full(n.shape(), -1.0, n.dtype()),
                           numpy::zeros(n.shape(), DType::kBool), key};
  return lax::while_loop([](const AcceptedCount& now) { return ~numpy::all(now.is_accepted); },
                         propose, init)
      .count;
}

// Runs both algorithms for all elements, each with parameters that it can handle, for the smaller
// of p and 1 - p.
Array binomial_samples(const Array& key, const Array& n, const Array& p, DType dtype) {
  const Array is_small = p < 0.5;
  const Array q = numpy::where(is_small, p, 1.0 - p);
  const Array is_no_count = numpy::isnan(n) | (n < 0.0), is_infinite = numpy::isinf(n);
  const Array is_no_chance = numpy::isnan(q), is_invalid = (q < 0.0) | is_no_chance | is_no_count;
  const Array chance = numpy::where(is_no_chance | (q < 0.0), 0.01, q);
  // The loops would not end for infinitely many trials.
  const Array trials = numpy::where(is_infinite, 1.0, n), count = lax::floor(trials);
  const Array are_few = is_no_count | (trials * chance <= 10.0);
  const Array few = binomial_by_sums(key, numpy::where(are_few, count, 0.0), chance);
  const Array many = binomial_by_rejection(key, numpy::where(are_few, 1e4, count),
                                           numpy::where(are_few, 0.5, chance));
  Array samples = lax::convert_element_type(numpy::where(are_few, few, many), dtype);
  samples = numpy::where(is_invalid, std::numeric_limits<double>::quiet_NaN(), samples);
  samples =
      numpy::where(is_infinite & ~is_invalid,
                   numpy::where(p == 0.0, 0.0, std::numeric_limits<double>::infinity()), samples);
  return numpy::where(is_small | is_no_count | is_no_chance | is_infinite, samples,
                      lax::convert_element_type(count, dtype) - samples);
}

Array binomial_of(const Array& key, const Array& n, const Array& p, DType dtype) {
  static const auto sample = jit([](const Array& key, const Array& n, const Array& p,
                                    DType dtype) { return binomial_samples(key, n, p, dtype); },
                                 {.name = "binomial"});
  return sample(key, n, p, dtype);
}

}  // namespace

Array binomial(const Array& key, const Array& n, const Array& p, const OptionalShape& shape,
               DType dtype) {
  const Array typed = one_key("binomial", key);
  check_float("binomial", dtype);
  const Shape size = common_shape("binomial", shape, {n.shape(), p.shape()});
  const Array chance = as_float("binomial", p);
  const Array count = lax::convert_element_type(n, chance.dtype());
  return binomial_of(typed, in_shape(count, size), in_shape(chance, size), dtype);
}

// One outcome after the other: a binomial sample of the remaining trials.
Array multinomial(const Array& key, const Array& n, const Array& p, const OptionalShape& shape,
                  DType dtype, int64_t unroll) {
  const Array typed = one_key("multinomial", key);
  const ShapeDtype types[] = {n.type(), p.type()};
  const DType computed =
      with_error_prefix("multinomial", [&] { return promote_to_inexact(types).dtype; });
  if (p.rank() == 0) {
    invalid_argument("multinomial: p must have at least one dimension, got a scalar");
  }
  const Shape size =
      common_shape("multinomial", shape ? shape : OptionalShape(to_shape(p.shape())), {p.shape()});
  const Shape front(size.begin(), size.end() - 1);
  common_shape("multinomial", front, {n.shape()});
  const Array chances = numpy::moveaxis(in_shape(in_dtype(p, computed), size), -1, 0);
  const Array left = lax::cumsum(chances, 0, /*reverse=*/true);
  const Array ratios = chances / numpy::where(left == 0.0, 1.0, left);
  const int64_t outcomes = size.back();
  const std::array xs = {ratios, random_split(typed, {&outcomes, 1})};
  const Array trials = in_shape(in_dtype(n, computed), front);
  const auto draw = [&](std::span<const Array> carry, std::span<const Array> x) {
    const Array count = binomial_of(x[1], carry[0], numpy::clip(x[0], 0.0, 1.0), computed);
    return lax::LoopResults{{carry[0] - count}, {count}};
  };
  const auto found = lax::scan(draw, {&trials, 1}, xs, {.unroll = unroll});
  return lax::convert_element_type(numpy::moveaxis(found.ys[0], 0, -1), dtype);
}

}  // namespace farcall::random
