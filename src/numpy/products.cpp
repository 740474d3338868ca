#include <farcall/numpy/products.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/sizes.h>
#include <farcall/ops/convolution.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>

#include "ops/internal/numpy.h"

namespace farcall::numpy {
namespace {

// Widens the operands to the preferred dtype and returns their product in it.
Array in_preferred(std::optional<DType> preferred, const Array& x, const Array& y,
                   Array (*product)(const Array&, const Array&)) {
  if (!preferred) return product(x, y);
  return astype(product(widened(x, *preferred), widened(y, *preferred)), *preferred);
}

// Element i of the last dimension.
Array last_element(const Array& x, int64_t i) { return take(x, {Ellipsis{}, i}); }

// The sums of products of two vectors, with the second one shifted along the first.
Array slide(const Array& x, const Array& y, ConvolveMode mode, const char* function) {
  const int64_t width = y.shape()[0];
  std::pair<int64_t, int64_t> pads = {0, 0};
  if (mode == ConvolveMode::kFull) pads = {width - 1, width - 1};
  if (mode == ConvolveMode::kSame) pads = {width / 2, width - 1 - width / 2};
  const ShapeDtype types[] = {x.type(), y.type()};
  const DType dtype = with_error_prefix(function, [&] { return promote_to_inexact(types).dtype; });
  const auto as_image = [&](const Array& vector) {
    return reshape(astype(vector, dtype), {1, 1, -1});
  };
  return ravel(lax::conv_general_dilated(as_image(x), as_image(y),
                                         {.padding = {pads}, .window_strides = {1}}));
}

void check_vectors(const Array& x, const Array& y, const char* function) {
  if (x.rank() == 1 && y.rank() == 1 && x.size() > 0 && y.size() > 0) return;
  invalid_argument(fmt::format("{}: takes two vectors that are not empty; got {} and {}", function,
                               shape_to_string(x.shape()), shape_to_string(y.shape())));
}

std::pair<Array, Array> preferring(const Array& x, const Array& y, std::optional<DType> preferred) {
  if (!preferred) return {x, y};
  return {astype(x, *preferred), astype(y, *preferred)};
}

}  // namespace

Array matmul(const Array& x, const Array& y, std::optional<DType> preferred) {
  return in_preferred(preferred, x, y, matmul);
}
Array dot(const Array& x, const Array& y, std::optional<DType> preferred) {
  return in_preferred(preferred, x, y, dot);
}

Array tensordot(const Array& x, const Array& y, int64_t num_axes, std::optional<DType> preferred) {
  const auto rank_x = static_cast<int64_t>(x.rank()), rank_y = static_cast<int64_t>(y.rank());
  if (num_axes < 0 || num_axes > std::min(rank_x, rank_y)) {
    invalid_argument(fmt::format(
        "tensordot: the number of axes must lie in [0, {}] for shapes {} and {}, got {}",
        std::min(rank_x, rank_y), shape_to_string(x.shape()), shape_to_string(y.shape()),
        num_axes));
  }
  std::vector<int64_t> last(num_axes), first(num_axes);
  std::iota(last.begin(), last.end(), rank_x - num_axes);
  std::iota(first.begin(), first.end(), 0);
  return tensordot(x, y, last, first, preferred);
}

Array inner(const Array& x, const Array& y, std::optional<DType> preferred) {
  if (x.rank() == 0 || y.rank() == 0) return in_preferred(preferred, x, y, multiply);
  return tensordot(x, y, {-1}, {-1}, preferred);
}

Array vdot(const Array& x, const Array& y, std::optional<DType> preferred) {
  return tensordot(ravel(conjugate(x)), ravel(y), 1, preferred);
}

Array vecdot(const Array& x, const Array& y, int64_t axis, std::optional<DType> preferred) {
  return einsum("...i,...i->...", {moveaxis(conjugate(x), axis, -1), moveaxis(y, axis, -1)},
                {.preferred = preferred});
}

Array matvec(const Array& x, const Array& y) { return einsum("...ij,...j->...i", {x, y}); }

Array vecmat(const Array& x, const Array& y) {
  return einsum("...i,...ij->...j", {conjugate(x), y});
}

Array kron(const Array& x, const Array& y) {
  const size_t rank = std::max(x.rank(), y.rank());
  Shape apart_x, apart_y, together;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t m = i + x.rank() < rank ? 1 : x.shape()[i + x.rank() - rank];
    const int64_t n = i + y.rank() < rank ? 1 : y.shape()[i + y.rank() - rank];
    apart_x.insert(apart_x.end(), {m, 1});
    apart_y.insert(apart_y.end(), {1, n});
    together.push_back(checked_product(m, n));
  }
  return reshape(multiply(reshape(x, apart_x), reshape(y, apart_y)), together);
}

Array cross(const Array& a, const Array& b, const CrossAxes& axes) {
  normalize_axis(axes.x, a.rank(), "cross");
  normalize_axis(axes.y, b.rank(), "cross");
  const Array x = moveaxis(a, axes.x, -1), y = moveaxis(b, axes.y, -1);
  const int64_t size_x = x.shape().back(), size_y = y.shape().back();
  if ((size_x != 2 && size_x != 3) || (size_y != 2 && size_y != 3)) {
    invalid_argument(
        fmt::format("cross: vectors have two or three elements, here {} and {}", size_x, size_y));
  }
  const Array x0 = last_element(x, 0), x1 = last_element(x, 1);
  const Array y0 = last_element(y, 0), y1 = last_element(y, 1);
  Array last = x0 * y1 - x1 * y0;
  if (size_x == 2 && size_y == 2) return last;
  const Array x2 = size_x == 3 ? last_element(x, 2) : x0 * 0;
  const Array y2 = size_y == 3 ? last_element(y, 2) : y0 * 0;
  const Array made = stack({x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, last}, -1);
  return moveaxis(made, -1, axes.result);
}

Array convolve(const Array& a, const Array& v, ConvolveMode mode, std::optional<DType> preferred) {
  check_vectors(a, v, "convolve");
  auto [x, y] = preferring(a, v, preferred);
  if (x.size() < y.size()) std::swap(x, y);
  return slide(x, flip(y), mode, "convolve");
}

Array correlate(const Array& a, const Array& v, ConvolveMode mode, std::optional<DType> preferred) {
  check_vectors(a, v, "correlate");
  const auto [x, y] = preferring(a, v, preferred);
  const Array conjugated = conjugate(y);
  if (x.size() < y.size()) return flip(slide(conjugated, x, mode, "correlate"));
  return slide(x, conjugated, mode, "correlate");
}

}  // namespace farcall::numpy
