#include <farcall/numpy/windows.h>

#include <algorithm>
#include <initializer_list>
#include <numbers>

#include <farcall/core/config.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/special_functions.h>

#include "ops/internal/numpy.h"

namespace farcall::numpy {
namespace {

// The positions 0, 1, … and the last position, which is at least 1.
struct Places {
  explicit Places(int64_t size)
      : each(lax::iota(default_float(), {std::max<int64_t>(size, 0)}, 0)),
        last(static_cast<double>(std::max<int64_t>(size, 2) - 1)) {}
  Array each;
  double last;
};
Array of_one_point() { return ones({1}, default_float()); }

// A constant plus cosines of 1, 2, … periods with these weights; 1 for a single point.
Array cosines(int64_t size, double constant, std::initializer_list<double> weights) {
  if (size == 1) return of_one_point();
  const Places places(size);
  Array result = full(places.each.shape(), constant, default_float());
  double num_periods = 1;
  for (const double weight : weights) {
    const double step = 2 * std::numbers::pi * num_periods++ / places.last;
    result = result + weight * cos(places.each * step);
  }
  return result;
}

}  // namespace

Array bartlett(int64_t size) {
  if (size == 1) return of_one_point();
  const Places places(size);
  return 1 - absolute(2 * places.each - places.last) / places.last;
}

Array blackman(int64_t size) { return cosines(size, 0.42, {-0.5, 0.08}); }
Array hamming(int64_t size) { return cosines(size, 0.54, {-0.46}); }
Array hanning(int64_t size) { return cosines(size, 0.5, {-0.5}); }

Array kaiser(int64_t size, const Array& beta_in) {
  if (size == 1) return of_one_point();
  const Places places(size);
  const Array beta = promote_inexact(beta_in, "kaiser");
  const Array ratio = 2 * places.each / places.last - 1;
  const Array half_circle = sqrt(maximum(1 - ratio * ratio, 0));
  return special::i0(beta * half_circle) / special::i0(beta);
}

}  // namespace farcall::numpy
