// numpy's searchsorted, interp and gradient.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/cumulative.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/numpy_indexing.h>

#include "ops/internal/numpy.h"
#include "ops/internal/rules.h"

namespace farcall::numpy {
namespace {

// Sorts the points within one period, and adds one point at each end.
struct Points {
  Array x, y;
};
Points periodic(const Points& points, const Array& period) {
  const int64_t count = points.x.shape()[0];
  const std::vector<Array> sorted = lax::sort(std::array{remainder(points.x, period), points.y}, 0);
  const Array &x = sorted[0], &y = sorted[1];
  const Array before = lax::sub(rows(x, count - 1, count), period);
  const Array behind = lax::add(rows(x, 0, 1), period);
  return {lax::concatenate(std::array{before, x, behind}, 0),
          lax::concatenate(std::array{rows(y, count - 1, count), y, rows(y, 0, 1)}, 0)};
}

// Piecewise linear interpolation, with extrapolation beyond the ends.
Array along_line(const Array& x, const Points& points) {
  const int64_t count = points.x.shape()[0];
  const Array found = searchsorted(points.x, x, /*after_equal=*/true);
  const auto bound = [&](int64_t value) {
    return scalar_of(found.dtype(), static_cast<double>(value));
  };
  const Array after = lax::clamp(bound(1), found, bound(std::max<int64_t>(count - 1, 1)));
  const Array before = lax::sub(after, bound(1));
  const Array x0 = take(points.x, {Index(before)}), x1 = take(points.x, {Index(after)});
  const Array y0 = take(points.y, {Index(before)}), y1 = take(points.y, {Index(after)});
  const Array width = lax::sub(x1, x0);
  // Avoids dividing by zero for coincident points.
  const Array is_flat = lax::eq(width, like(width, 0));
  const Array part = lax::div(lax::sub(x, x0), where(is_flat, like(width, 1), width));
  // Computed from the nearer point, so that both end points are exact.
  const Array rise = lax::sub(y1, y0), rest = lax::sub(like(part, 1), part);
  const Array line = where(lax::lt(part, like(part, 0.5)), add(y0, multiply(part, rise)),
                           subtract(y1, multiply(rest, rise)));
  return where(is_flat, y1, line);
}

// The order of sorted arrays, in which NaN comes last, and complex numbers are ordered by their
// real parts first.
Array is_less(const Array& x, const Array& y) {
  if (is_complex(x.dtype())) {
    const Array real_x = lax::real(x), real_y = lax::real(y);
    const Array is_beside = lax::bitwise_not(is_less(real_y, real_x));
    return lax::bitwise_or(is_less(real_x, real_y),
                           lax::bitwise_and(is_beside, is_less(lax::imag(x), lax::imag(y))));
  }
  if (!is_floating(x.dtype())) return lax::lt(x, y);
  const Array is_number = lax::eq(x, x), is_nan = lax::ne(y, y);
  return lax::bitwise_or(lax::lt(x, y), lax::bitwise_and(is_nan, is_number));
}

// The dtype that elements are compared in. They are read again and again, by vectors if they have
// four bytes.
DType searched_dtype(DType dtype) {
  if (is_complex(dtype) || byte_width(dtype) >= 4) return dtype;
  return is_floating(dtype) ? DType::kFloat32 : DType::kInt32;
}

}  // namespace

// A binary search for all elements of `v` side by side: in each step, the elements of `a` before
// one of `v` are at least as many as found.
Array searchsorted(const Array& a, const Array& v, bool after_equal) {
  if (a.rank() != 1) {
    invalid_argument(fmt::format("searchsorted: a must be a vector, its shape is {}",
                                 shape_to_string(a.shape())));
  }
  const auto [sorted, wanted] = with_error_prefix("searchsorted", [&] {
    const ShapeDtype types[] = {a.type(), v.type()};
    const PromotedDType common = promote_types(types);
    const DType dtype = searched_dtype(common.dtype);
    return std::pair(astype(convert(a, common), dtype), astype(convert(v, common), dtype));
  });
  const int64_t size = sorted.shape()[0];
  Array found = lax::broadcast_in_dim(scalar_of(DType::kInt32, 0), wanted.shape(), {});
  for (auto step = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(size))); step > 0;
       step /= 2) {
    const Array next = lax::add(found, like(found, static_cast<double>(step)));
    const Array is_inside = lax::le(next, like(next, static_cast<double>(size)));
    const Array last = lax::sub(next, like(next, 1));
    const Array element = take(sorted, last, 0, {.mode = "clip", .wrap_negative_indices = false});
    const Array is_before =
        after_equal ? lax::bitwise_not(is_less(wanted, element)) : is_less(element, wanted);
    found = where(lax::bitwise_and(is_inside, is_before), next, found);
  }
  return found;
}

Array interp(const Array& x, const Array& xp, const Array& fp, const InterpOptions& options) {
  if (xp.rank() != 1 || !std::ranges::equal(xp.shape(), fp.shape()) || xp.size() == 0) {
    invalid_argument(
        fmt::format("interp: xp and fp must be vectors of one size, not empty; got {} and {}",
                    shape_to_string(xp.shape()), shape_to_string(fp.shape())));
  }
  const PromotedDType common = with_error_prefix("interp", [&] {
    const ShapeDtype types[] = {x.type(), xp.type(), fp.type()};
    return promote_to_inexact(types);
  });
  const DType real = real_dtype(common.dtype);
  const DType values = is_complex(fp.dtype()) ? common.dtype : real;
  Array at = convert(x, {real, false});
  Points points = {convert(xp, {real, false}), convert(fp, {values, false})};
  if (options.period) {
    const double size = std::fabs(*options.period);
    if (!(size > 0)) {
      invalid_argument(fmt::format("interp: period must not be zero, got {}", *options.period));
    }
    const Array period = scalar_of(real, size);
    at = remainder(at, period);
    points = periodic(points, period);
  }
  Array line = along_line(at, points);
  if (options.period) return line;
  const int64_t count = xp.shape()[0];
  const Array first = lax::squeeze(rows(points.x, 0, 1), {0});
  const Array last = lax::squeeze(rows(points.x, count - 1, count), {0});
  const Array left = options.left ? convert(*options.left, {values, false})
                                  : lax::squeeze(rows(points.y, 0, 1), {0});
  const Array right = options.right ? convert(*options.right, {values, false})
                                    : lax::squeeze(rows(points.y, count - 1, count), {0});
  return where(greater(at, last), right, where(less(at, first), left, line));
}

Array gradient(const Array& f_in, const Array& spacing, int64_t axis_in) {
  const int64_t axis = normalize_axis(axis_in, f_in.rank(), "gradient");
  const int64_t size = f_in.shape()[axis];
  if (size < 2) {
    invalid_argument(
        fmt::format("gradient: needs at least two points, dimension {} has {}", axis, size));
  }
  if (spacing.rank() > 1 || (spacing.rank() == 1 && spacing.shape()[0] != size)) {
    invalid_argument(fmt::format("gradient: dimension {} has {} points, got coordinates {}", axis,
                                 size, spacing.type().to_string()));
  }
  const PromotedDType common = with_error_prefix("gradient", [&] {
    const ShapeDtype types[] = {f_in.type(), spacing.type()};
    return promote_to_inexact(types);
  });
  const Array f = moveaxis(convert(f_in, common), axis, 0), h = convert(spacing, common);
  const auto apart = [&](const Array& x, int64_t distance) {
    return lax::sub(rows(x, distance, size), rows(x, 0, size - distance));
  };
  Array inner, slopes;
  if (h.rank() == 0) {
    slopes = divide(apart(f, 1), h);
    inner = divide(apart(f, 2), add(h, h));
  } else {
    Shape column(f.rank(), 1);
    column[0] = size - 1;
    const Array width = reshape(apart(h, 1), column);
    slopes = divide(apart(f, 1), width);
    const Array before = rows(width, 0, size - 2), after = rows(width, 1, size - 1);
    // The slope of the parabola through three points.
    inner = divide(add(multiply(rows(slopes, 0, size - 2), after),
                       multiply(rows(slopes, 1, size - 1), before)),
                   add(before, after));
  }
  const Array all =
      lax::concatenate(std::array{rows(slopes, 0, 1), inner, rows(slopes, size - 2, size - 1)}, 0);
  return strengthen(moveaxis(all, 0, axis));
}

}  // namespace farcall::numpy
