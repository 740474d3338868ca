// Geometric and Poisson samples.
#include <limits>

#include <farcall/ops/lax.h>
#include <farcall/ops/loops.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/jit.h>

#include "ops/internal/rules.h"
#include "random/checks.h"
#include "random/primitives.h"
#include "random/uniform.h"

namespace farcall::random {
namespace {

struct Product {
  Array count, key, log_product;
};
FARCALL_TREE(Product, count, key, log_product);

struct Accepted {
  Array count, is_accepted, key;
};
FARCALL_TREE(Accepted, count, is_accepted, key);

// D. Knuth, The Art of Computer Programming, volume 2, section 3.4.1: the number of uniform samples
// whose product stays above exp(-lam). For small lam.
Array poisson_by_products(const Array& key, const Array& lam, DType dtype) {
  const Array one = scalar_of(dtype, 1), least = lax::neg(lam);
  const auto goes_on = [&](const Product& now) { return lax::gt(now.log_product, least); };
  const Product init{numpy::zeros(lam.shape(), dtype), key, numpy::zeros_like(lam)};
  const Product last = lax::while_loop(
      [&](const Product& now) { return numpy::any(goes_on(now)); },
      [&](const Product& now) {
        const Array u = unit_interval(subkey(now.key, 1), lam.shape(), lam.dtype());
        return Product{numpy::where(goes_on(now), lax::add(now.count, one), now.count),
                       subkey(now.key, 0), lax::add(now.log_product, lax::log(u))};
      },
      init);
  return lax::sub(last.count, one);
}

// W. Hoermann, "The transformed rejection method for generating Poisson random variables"
// (Insurance: Mathematics and Economics, 1993). For large lam.
Array poisson_by_rejection(const Array& key, const Array& lam, DType dtype) {
  const Array log_lam = lax::log(lam);
  const Array b = 0.931 + 2.53 * lax::sqrt(lam);
  const Array a = -0.059 + 0.02483 * b;
  const Array inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const Array v_r = 0.9277 - 3.6224 / (b - 2.0);
  const auto propose = [&](const Accepted& now) {
    const Array u = unit_interval(subkey(now.key, 1), lam.shape(), lam.dtype()) - 0.5;
    const Array v = unit_interval(subkey(now.key, 2), lam.shape(), lam.dtype());
    const Array us = 0.5 - lax::abs(u);
    const Array k = lax::floor((2.0 * a / us + b) * u + lam + 0.43);
    const Array s = lax::log(v * inverse_alpha / (a / (us * us) + b));
    const Array bound = -lam + k * log_lam - lax::lgamma(k + 1.0);
    const Array is_inside = (us >= 0.07) & (v <= v_r);
    const Array is_outside = (k < 0.0) | ((us < 0.013) & (v > us));
    const Array is_accepted = is_inside | (~is_outside & (s <= bound));
    return Accepted{numpy::where(is_accepted, k, now.count), now.is_accepted | is_accepted,
                    subkey(now.key, 0)};
  };
  const Accepted init{numpy::full(lam.shape(), -1.0, lam.dtype()),
                      numpy::zeros(lam.shape(), DType::kBool), key};
  const Accepted last = lax::while_loop(
      [](const Accepted& now) { return ~numpy::all(now.is_accepted); }, propose, init);
  return lax::convert_element_type(last.count, dtype);
}

// Runs both algorithms for all elements, each with parameters that it can handle.
Array poisson_samples(const Array& key, const Array& lam, DType dtype) {
  const Array is_small = numpy::isnan(lam) | (lam < 10.0);
  const Array small = poisson_by_products(key, numpy::where(is_small, lam, 0.0), dtype);
  const Array large = poisson_by_rejection(key, numpy::where(is_small, 1e5, lam), dtype);
  return numpy::where(lam == 0.0, numpy::zeros(lam.shape(), dtype),
                      numpy::where(is_small, small, large));
}

}  // namespace

Array geometric(const Array& key, const Array& p, const OptionalShape& shape, DType dtype) {
  const Array typed = one_key("geometric", key);
  check_integer("geometric", dtype);
  const Shape size = common_shape("geometric", shape, {p.shape()});
  const Array chance = as_float("geometric", p);
  const Array u = unit_interval(typed, size, chance.dtype());
  const Array log_u = lax::log(numpy::where(u == 0.0, 1.0, u));
  const Array count = lax::floor(log_u / lax::log1p(lax::neg(chance))) + 1.0;
  return lax::convert_element_type(count, dtype);
}

Array poisson(const Array& key, const Array& lam, const OptionalShape& shape, DType dtype) {
  static const auto sample = jit([](const Array& key, const Array& lam,
                                    DType dtype) { return poisson_samples(key, lam, dtype); },
                                 {.name = "poisson"});
  const Array typed = one_key("poisson", key);
  check_integer("poisson", dtype);
  const Shape size = common_shape("poisson", shape, {lam.shape()});
  return sample(typed, in_shape(in_dtype(lam, DType::kFloat32), size), dtype);
}

}  // namespace farcall::random
