// numpy's reductions.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy_statistics.h>

#include "ops/internal/numpy.h"

namespace farcall::numpy {
namespace {

using Reduction = Array (*)(const Array&, ListOf<int64_t>);

Array reduce_axes(Reduction reduction, const Array& x, const Axes& axes, bool keepdims,
                  std::string_view function) {
  const std::vector<int64_t> which = normalize_axes(axes, x.rank(), function);
  const Array result = strengthen(reduction(x, which));
  return keepdims ? expand_dims(result, which) : result;
}

// Raises for empty dimensions, which have no extreme; the primitives would return infinities.
Array reduce_extreme(Reduction reduction, const Array& x, const Axes& axes, bool keepdims,
                     std::string_view function) {
  for (const int64_t axis : normalize_axes(axes, x.rank(), function)) {
    if (x.shape()[axis] > 0) continue;
    invalid_argument(fmt::format("{}: dimension {} of {} is empty and has no extreme", function,
                                 axis, x.type().to_string()));
  }
  return reduce_axes(reduction, x, axes, keepdims, function);
}

// Sums of narrow floats are computed in float32 to avoid overflow, and converted back by
// in_dtype().
Array with_range(const Array& x) {
  const bool is_narrow = is_floating(x.dtype()) && dtype_info(x.dtype()).bits < 32;
  return is_narrow ? lax::convert_element_type(x, DType::kFloat32) : x;
}
Array in_dtype(const Array& x, DType dtype) { return lax::convert_element_type(x, dtype); }

Array arg_extreme(Array (*position)(const Array&, int64_t, DType), const Array& x,
                  std::optional<int64_t> axis, bool keepdims, std::string_view function) {
  if (axis) {
    const int64_t which = normalize_axis(*axis, x.rank(), function);
    const Array result = position(x, which, default_int());
    return keepdims ? expand_dims(result, std::span(&which, 1)) : result;
  }
  const Array result = position(ravel(x), 0, default_int());
  return keepdims ? reshape(result, Shape(x.rank(), 1)) : result;
}

// Sums of bools and narrow integers are computed in the default integer, as in numpy.
Array widened(const Array& x) {
  const auto& info = dtype_info(x.dtype());
  const bool is_small = info.bits < dtype_info(default_int()).bits;
  if (info.kind == DTypeKind::kBool || (info.kind == DTypeKind::kSigned && is_small)) {
    return lax::convert_element_type(x, default_int());
  }
  if (info.kind == DTypeKind::kUnsigned && is_small) {
    return lax::convert_element_type(x, default_uint());
  }
  return x;
}

// ---- means

Array elements_of(const Array& x, const MeanOptions& options, std::string_view function) {
  return options.dtype ? astype(x, *options.dtype) : promote_inexact(x, function);
}

// The sum of the elements that `where` selects.
Array sum_of(const Array& x, const Axes& axes, const MeanOptions& options,
             std::string_view function) {
  const Array taken = options.where ? where(*options.where, x, zeros({}, x.dtype())) : x;
  return reduce_axes(lax::reduce_sum, widened(taken), axes, options.keepdims, function);
}

double num_elements(const Array& x, const Axes& axes, std::string_view function) {
  double size = 1;
  for (const int64_t axis : normalize_axes(axes, x.rank(), function)) {
    size *= static_cast<double>(x.shape()[axis]);
  }
  return size;
}

// The number of selected elements for each result.
Array count(const Array& x, const Axes& axes, const MeanOptions& options,
            std::string_view function) {
  if (options.where) {
    const Array chosen = with_error_prefix(
        function, [&] { return broadcast_to(as_bool(*options.where), x.shape()); });
    return sum(chosen, axes, options.keepdims);
  }
  return num_elements(x, axes, function);
}

// What the sum of the squares is divided by: NaN, as in JAX, if no degree of freedom is left.
Array degrees_of_freedom(const Array& x, const Axes& axes, const VarOptions& options,
                         std::string_view function) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (options.where) {
    const Array degrees = subtract(count(x, axes, options, function), options.ddof);
    return where(greater(degrees, 0), degrees, kNan);
  }
  const double degrees = num_elements(x, axes, function) - options.ddof;
  return degrees > 0 ? degrees : kNan;
}

struct Spread {
  Array variance;  // in the dtype in which it was computed
  DType dtype;     // the dtype of the result
};
Spread spread_of(const Array& x, const Axes& axes, const VarOptions& options,
                 std::string_view function) {
  if (options.dtype && is_complex(x.dtype()) && !is_complex(*options.dtype)) {
    invalid_argument(fmt::format("{}: dtype must be complex as {} is, got {}", function,
                                 x.type().to_string(), dtype_short_name(*options.dtype)));
  }
  const Array degrees = degrees_of_freedom(x, axes, options, function);
  const Array elements = promote_inexact(elements_of(x, options, function), function);
  const Array wide = with_range(elements);
  const MeanOptions kept{.keepdims = true, .dtype = {}, .where = options.where};
  const Array center = options.mean ? *options.mean : mean(wide, axes, kept);
  const Array centered = subtract(wide, center);
  const Array squares = is_complex(centered.dtype())
                            ? lax::real(lax::mul(centered, lax::conj(centered)))
                            : lax::integer_pow(centered, 2);
  const Array total = sum_of(squares, axes, options, function);
  const bool is_asked = options.dtype && is_complex(*options.dtype);
  const DType dtype = is_asked                       ? *options.dtype
                      : is_complex(elements.dtype()) ? squares.dtype()
                                                     : elements.dtype();
  return {divide(total, degrees), dtype};
}

// Broadcasts the weights to the shape of x.
Array weights_of(const Array& x, const Axes& axes, const Array& weights) {
  if (std::ranges::equal(weights.shape(), x.shape())) return weights;
  const std::vector<int64_t> which = normalize_axes(axes, x.rank(), "average");
  if (!axes || which.size() != 1 || weights.rank() != 1 ||
      weights.shape()[0] != x.shape()[which[0]]) {
    invalid_argument(
        fmt::format("average: weights must have the shape of {} or be a vector of the size "
                    "of the one axis, got {}",
                    x.type().to_string(), weights.type().to_string()));
  }
  return lax::broadcast_in_dim(weights, x.shape(), which);
}

}  // namespace

Array sum(const Array& x, const Axes& axes, bool keepdims) {
  return reduce_axes(lax::reduce_sum, widened(x), axes, keepdims, "sum");
}
Array prod(const Array& x, const Axes& axes, bool keepdims) {
  return reduce_axes(lax::reduce_prod, widened(x), axes, keepdims, "prod");
}
Array max(const Array& x, const Axes& axes, bool keepdims) {
  return reduce_extreme(lax::reduce_max, x, axes, keepdims, "max");
}
Array min(const Array& x, const Axes& axes, bool keepdims) {
  return reduce_extreme(lax::reduce_min, x, axes, keepdims, "min");
}
Array any(const Array& x, const Axes& axes, bool keepdims) {
  return reduce_axes(lax::reduce_or, as_bool(x), axes, keepdims, "any");
}
Array all(const Array& x, const Axes& axes, bool keepdims) {
  return reduce_axes(lax::reduce_and, as_bool(x), axes, keepdims, "all");
}

Array mean(const Array& x, const Axes& axes, const MeanOptions& options) {
  const Array elements = elements_of(x, options, "mean");
  const Array size = count(x, axes, options, "mean");
  const Array total = sum_of(with_range(elements), axes, options, "mean");
  return in_dtype(divide(total, size), elements.dtype());
}

Array var(const Array& x, const Axes& axes, const VarOptions& options) {
  const Spread spread = spread_of(x, axes, options, "var");
  return in_dtype(spread.variance, spread.dtype);
}

Array std(const Array& x, const Axes& axes, const VarOptions& options) {
  const Spread spread = spread_of(x, axes, options, "std");
  // The variance of one element is 0: skip the root, which has no derivative there.
  const bool is_of_one = !options.mean && num_elements(x, axes, "std") == 1;
  const Array root = is_of_one ? spread.variance : lax::sqrt(spread.variance);
  return in_dtype(root, spread.dtype);
}

Average average(const Array& x, const Axes& axes, const std::optional<Array>& weights,
                bool keepdims) {
  if (!weights) {
    const MeanOptions options{.keepdims = keepdims};
    const Array result = mean(x, axes, options);
    const Array size = in_dtype(count(x, axes, options, "average"), result.dtype());
    return {result, broadcast_to(size, result.shape())};
  }
  const auto [elements, factors] = promote_inexact(x, weights_of(x, axes, *weights), "average");
  const Array wide = with_range(factors);
  const Array total = sum_of(wide, axes, {keepdims}, "average");
  const Array sum = sum_of(multiply(with_range(elements), wide), axes, {keepdims}, "average");
  const DType dtype = elements.dtype();
  return {in_dtype(divide(sum, total), dtype), in_dtype(total, dtype)};
}

Array mean(const Array& x, const Axes& axes, bool keepdims) {
  return mean(x, axes, MeanOptions{.keepdims = keepdims});
}
Array var(const Array& x, const Axes& axes, bool keepdims, double ddof) {
  return var(x, axes, VarOptions{{.keepdims = keepdims}, ddof, {}});
}
Array std(const Array& x, const Axes& axes, bool keepdims, double ddof) {
  return std(x, axes, VarOptions{{.keepdims = keepdims}, ddof, {}});
}

Array argmax(const Array& x, std::optional<int64_t> axis, bool keepdims) {
  return arg_extreme(lax::argmax, x, axis, keepdims, "argmax");
}
Array argmin(const Array& x, std::optional<int64_t> axis, bool keepdims) {
  return arg_extreme(lax::argmin, x, axis, keepdims, "argmin");
}

}  // namespace farcall::numpy
