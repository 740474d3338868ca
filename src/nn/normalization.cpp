#include <farcall/nn/normalization.h>

#include <cmath>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include <farcall/core/config.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy_statistics.h>

#include "ops/internal/numpy.h"

namespace farcall::nn {
namespace {

Array lowest(const Array& x) {
  return numpy::astype(-std::numeric_limits<double>::infinity(), x.dtype());
}

// The largest element as a constant, without derivative; 0 if it is infinite.
Array finite_maximum(const Array& x, const std::vector<int64_t>& axes) {
  const Array largest =
      numpy::expand_dims(lax::stop_gradient(lax::reduce_max(numpy::real(x), axes)), axes);
  return numpy::where(numpy::isfinite(largest), largest, numpy::zeros({}, largest.dtype()));
}

// x as floats; masked elements get the lowest value.
Array counted_floats(const Array& x, const std::optional<Array>& where, std::string_view function) {
  const Array a = numpy::promote_inexact(x, function);
  return where ? numpy::where(*where, a, lowest(a)) : a;
}

struct Sums {
  Array total, largest;  // sum(b exp(x - largest)), with the axes kept
  std::vector<int64_t> axes;
};
Sums sums_of(const Array& x, const Axes& axes, const LogSumExpOptions& options) {
  Array a, factors;
  if (!options.b) {
    a = numpy::promote_inexact(x, "logsumexp");
  } else {
    const auto [exponents, b] = numpy::promote(x, *options.b, "logsumexp");
    a = numpy::promote_inexact(exponents, "logsumexp");
    factors = numpy::promote_inexact(b, "logsumexp") + numpy::zeros(a.shape(), a.dtype());
    a = a + numpy::zeros(factors.shape(), a.dtype());
    a = numpy::where(factors == 0, lowest(a), a);
  }
  a = counted_floats(a, options.where, "logsumexp");
  std::vector<int64_t> which = numpy::normalize_axes(axes, a.rank(), "logsumexp");
  const Array largest = finite_maximum(a, which);
  const Array terms = numpy::exp(a - largest);
  const Array total = numpy::sum(options.b ? factors * terms : terms, which, /*keepdims=*/true);
  return {total, largest, std::move(which)};
}

}  // namespace

Array softmax(const Array& x, const Axes& axes, const std::optional<Array>& where) {
  const Array a = counted_floats(x, where, "softmax");
  const std::vector<int64_t> which = numpy::normalize_axes(axes, a.rank(), "softmax");
  const Array terms = numpy::exp(a - finite_maximum(a, which));
  const Array result = terms / numpy::sum(terms, which, /*keepdims=*/true);
  return where ? numpy::where(*where, result, 0) : result;
}

Array log_softmax(const Array& x, const Axes& axes, const std::optional<Array>& where) {
  const Array a = counted_floats(x, where, "log_softmax");
  const std::vector<int64_t> which = numpy::normalize_axes(axes, a.rank(), "log_softmax");
  const Array shifted = a - finite_maximum(a, which);
  const Array result =
      shifted - numpy::log(numpy::sum(numpy::exp(shifted), which, /*keepdims=*/true));
  return where ? numpy::where(*where, result, -std::numeric_limits<double>::infinity()) : result;
}

Array logsumexp(const Array& x, const Axes& axes, const LogSumExpOptions& options) {
  const Sums sums = sums_of(x, axes, options);
  const Array result = numpy::log(sums.total) + sums.largest;
  return options.keepdims ? result : numpy::squeeze(result, sums.axes);
}

SignedLogarithm signed_logsumexp(const Array& x, const Axes& axes,
                                 const LogSumExpOptions& options) {
  const Sums sums = sums_of(x, axes, options);
  const Array sign = numpy::sign(sums.total);
  const Array result = numpy::log(numpy::absolute(sums.total)) + sums.largest;
  if (options.keepdims) return {result, sign};
  return {numpy::squeeze(result, sums.axes), numpy::squeeze(sign, sums.axes)};
}

Array logmeanexp(const Array& x, const Axes& axes, const std::optional<Array>& where,
                 bool keepdims) {
  const Array a = numpy::promote_inexact(x, "logmeanexp");
  const std::vector<int64_t> which = numpy::normalize_axes(axes, a.rank(), "logmeanexp");
  const Array total = logsumexp(a, which, {.keepdims = keepdims, .where = where});
  if (!where) {
    double size = 1;
    for (const int64_t axis : which) size *= static_cast<double>(a.shape()[axis]);
    return total - std::log(size);
  }
  const Array counts = numpy::broadcast_to(numpy::as_bool(*where), a.shape());
  return total - numpy::log(numpy::astype(numpy::sum(counts, which, keepdims), a.dtype()));
}

Array standardize(const Array& x, const Axes& axes, const StandardizeOptions& options) {
  const Array a = numpy::promote_inexact(x, "standardize");
  const auto mean_of = [&](const Array& values) {
    return numpy::mean(values, axes, numpy::MeanOptions{true, {}, options.where});
  };
  const Array mean =
      options.mean ? numpy::promote_inexact(*options.mean, "standardize") : mean_of(a);
  const auto computed_variance = [&] {
    return options.is_two_pass ? mean_of(numpy::square(a - mean))
                               : mean_of(numpy::square(a)) - numpy::square(mean);
  };
  const Array variance = options.variance ? *options.variance : computed_variance();
  const Array total = numpy::promote_inexact(variance + options.epsilon, "standardize");
  return (a - mean) * lax::rsqrt(total);
}

Array one_hot(const Array& x, int64_t num_classes, std::optional<DType> dtype, int64_t axis) {
  const auto rank = static_cast<int64_t>(x.rank()) + 1;
  const int64_t place = (axis % rank + rank) % rank;
  Shape shape(static_cast<size_t>(rank), 1);
  shape[static_cast<size_t>(place)] = num_classes;
  const Array classes = lax::iota(DType::kInt32, shape, place);
  // Narrow integers are not promoted.
  const bool is_narrow = is_integer(x.dtype()) && dtype_info(x.dtype()).bits < 8;
  const Array index = is_narrow ? numpy::astype(x, DType::kInt32) : x;
  const Array hit = numpy::expand_dims(index, {place}) == classes;
  return numpy::astype(hit, dtype.value_or(default_float()));
}

}  // namespace farcall::nn
