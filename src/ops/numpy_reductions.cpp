// numpy's reductions.
#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>

#include "ops/numpy_support.h"

namespace farcall::numpy {
namespace {

using Reduction = Array (*)(const Array&, ListOf<int64_t>);

Array reduce(Reduction reduction, const Array& x, const Axes& axes, bool keepdims,
             std::string_view function) {
  const std::vector<int64_t> which = normalize_axes(axes, x.rank(), function);
  const Array result = strengthen(reduction(x, which));
  return keepdims ? expand_dims(result, which) : result;
}

// Nothing has no extreme; the primitives give infinities there.
Array reduce_extreme(Reduction reduction, const Array& x, const Axes& axes, bool keepdims,
                     std::string_view function) {
  for (const int64_t axis : normalize_axes(axes, x.rank(), function)) {
    if (x.shape()[axis] > 0) continue;
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: dimension {} of {} is empty and has no extreme", function, axis,
                            x.type().to_string()));
  }
  return reduce(reduction, x, axes, keepdims, function);
}

// Sums of narrow floats are made in float32, whose range they stay in, and then made narrow again.
Array with_range(const Array& x) {
  const bool is_narrow = is_floating(x.dtype()) && dtype_info(x.dtype()).bits < 32;
  return is_narrow ? lax::convert_element_type(x, DType::kFloat32) : x;
}
Array in_dtype_of(const Array& x, const Array& result) {
  return x.dtype() == result.dtype() ? result : lax::convert_element_type(result, x.dtype());
}

double count(const Array& x, const Axes& axes, std::string_view function) {
  double size = 1;
  for (const int64_t axis : normalize_axes(axes, x.rank(), function)) {
    size *= static_cast<double>(x.shape()[axis]);
  }
  return size;
}

Array arg_extreme(Array (*position)(const Array&, int64_t, DType), const Array& x,
                  std::optional<int64_t> axis, bool keepdims, std::string_view function) {
  if (axis) {
    const int64_t which = normalize_axis(*axis, x.rank(), function);
    const Array result = position(x, which, DType::kInt32);
    return keepdims ? expand_dims(result, std::span(&which, 1)) : result;
  }
  const Array result = position(ravel(x), 0, DType::kInt32);
  return keepdims ? reshape(result, Shape(x.rank(), 1)) : result;
}

// Sums of bools and of narrow integers need room: numpy counts in the default integer.
Array widened(const Array& x) {
  const auto& info = dtype_info(x.dtype());
  if (info.kind == DTypeKind::kBool || (info.kind == DTypeKind::kSigned && info.bits < 32)) {
    return lax::convert_element_type(x, DType::kInt32);
  }
  if (info.kind == DTypeKind::kUnsigned && info.bits < 32) {
    return lax::convert_element_type(x, DType::kUInt32);
  }
  return x;
}

}  // namespace

Array sum(const Array& x, const Axes& axes, bool keepdims) {
  return reduce(lax::reduce_sum, widened(x), axes, keepdims, "sum");
}
Array prod(const Array& x, const Axes& axes, bool keepdims) {
  return reduce(lax::reduce_prod, widened(x), axes, keepdims, "prod");
}
Array max(const Array& x, const Axes& axes, bool keepdims) {
  return reduce_extreme(lax::reduce_max, x, axes, keepdims, "max");
}
Array min(const Array& x, const Axes& axes, bool keepdims) {
  return reduce_extreme(lax::reduce_min, x, axes, keepdims, "min");
}
Array any(const Array& x, const Axes& axes, bool keepdims) {
  return reduce(lax::reduce_or, as_bool(x), axes, keepdims, "any");
}
Array all(const Array& x, const Axes& axes, bool keepdims) {
  return reduce(lax::reduce_and, as_bool(x), axes, keepdims, "all");
}

Array mean(const Array& x, const Axes& axes, bool keepdims) {
  const Array inexact = promote_inexact(x, "mean");
  const Array total = reduce(lax::reduce_sum, with_range(inexact), axes, keepdims, "mean");
  return in_dtype_of(inexact, divide(total, count(x, axes, "mean")));
}

Array var(const Array& x, const Axes& axes, bool keepdims, double ddof) {
  const Array inexact = promote_inexact(x, "var");
  const Array wide = with_range(inexact);
  const Array centered = subtract(wide, mean(wide, axes, /*keepdims=*/true));
  const Array squares = is_complex(centered.dtype())
                            ? lax::real(lax::mul(centered, lax::conj(centered)))
                            : lax::integer_pow(centered, 2);
  const Array variance = divide(reduce(lax::reduce_sum, squares, axes, keepdims, "var"),
                                std::max(count(x, axes, "var") - ddof, 0.0));
  return is_complex(inexact.dtype()) ? variance : in_dtype_of(inexact, variance);
}

Array std(const Array& x, const Axes& axes, bool keepdims, double ddof) {
  return lax::sqrt(var(x, axes, keepdims, ddof));
}

Array argmax(const Array& x, std::optional<int64_t> axis, bool keepdims) {
  return arg_extreme(lax::argmax, x, axis, keepdims, "argmax");
}
Array argmin(const Array& x, std::optional<int64_t> axis, bool keepdims) {
  return arg_extreme(lax::argmin, x, axis, keepdims, "argmin");
}

}  // namespace farcall::numpy
