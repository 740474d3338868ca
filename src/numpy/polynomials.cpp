#include <farcall/numpy/polynomials.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/linalg/linalg.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_indexing.h>

#include "ops/numpy_support.h"

namespace farcall::numpy {
namespace {

Array coefficients(const Array& p, const char* function, const char* name = "p") {
  if (p.rank() > 1) {
    invalid_argument(
        fmt::format("{}: {} must have one dimension, got {}", function, name, p.rank()));
  }
  return reshape(p, {-1});
}

void check_order(int64_t order, const char* function) {
  if (order >= 0) return;
  invalid_argument(fmt::format("{}: the order must not be negative, got {}", function, order));
}

Array padded(const Array& x, int64_t before, int64_t behind) {
  return pad(x, PadWidths{{before, behind}}, Array(0));
}

// With zeros in front, to the length of the longer one.
std::pair<Array, Array> of_one_length(const Array& a, const Array& b) {
  const int64_t size = std::max(a.shape()[0], b.shape()[0]);
  return {padded(a, size - a.shape()[0], 0), padded(b, size - b.shape()[0], 0)};
}

// size, size - 1, …, 1.
Array powers(int64_t size) {
  return astype(size - lax::iota(DType::kInt32, {size}, 0), DType::kFloat32);
}

}  // namespace

Array polyval(const Array& p_in, const Array& x_in) {
  const ShapeDtype types[] = {p_in.type(), x_in.type()};
  const DType dtype = with_error_prefix("polyval", [&] { return promote_types(types).dtype; });
  const Array p = astype(p_in, dtype), x = astype(x_in, dtype);
  if (p.rank() == 0) invalid_argument("polyval: p must have a dimension, got a scalar");
  const std::span<const int64_t> shapes[] = {x.shape(), p.shape().subspan(1)};
  Array result =
      zeros(with_error_prefix("polyval", [&] { return broadcast_shapes(shapes); }), dtype);
  for (int64_t i = 0; i < p.shape()[0]; ++i) result = result * x + take(p, {i});
  return result;
}

Array polyadd(const Array& a1, const Array& a2) {
  const auto [a, b] =
      of_one_length(coefficients(a1, "polyadd", "a1"), coefficients(a2, "polyadd", "a2"));
  return add(a, b);
}
Array polysub(const Array& a1, const Array& a2) {
  const auto [a, b] =
      of_one_length(coefficients(a1, "polysub", "a1"), coefficients(a2, "polysub", "a2"));
  return subtract(a, b);
}

Array polyder(const Array& p, int64_t order) {
  Array result = promote_inexact(coefficients(p, "polyder"), "polyder");
  check_order(order, "polyder");
  for (int64_t i = 0; i < order; ++i) {
    const int64_t degree = std::max<int64_t>(result.shape()[0] - 1, 0);
    result = take(result, {Slice{.stop = degree}}) * powers(degree);
  }
  return result;
}

Array polyint(const Array& p, int64_t order, const std::optional<Array>& k) {
  Array result = promote_inexact(coefficients(p, "polyint"), "polyint");
  check_order(order, "polyint");
  Array constants = k ? coefficients(*k, "polyint", "k") : zeros({order}, default_float());
  if (constants.shape()[0] == 1 && order > 1) constants = broadcast_to(constants, {order});
  if (constants.shape()[0] != order) {
    invalid_argument(
        fmt::format("polyint: k must be one number or {}, got {}", order, constants.shape()[0]));
  }
  for (int64_t i = 0; i < order; ++i) {
    result = result / powers(result.shape()[0]);
    const Array constant = take(constants, {Slice{.start = i, .stop = i + 1}});
    result = concatenate({result, astype(constant, result.dtype())}, 0);
  }
  return result;
}

Array poly(const Array& zeros_in) {
  Array roots = promote_inexact(zeros_in, "poly");
  if (roots.rank() == 2 && roots.shape()[0] == roots.shape()[1]) {
    roots = farcall::linalg::eig(strengthen(roots), /*left=*/false, /*right=*/false).w;
  }
  if (roots.rank() != 1) {
    invalid_argument(fmt::format("poly: needs zeros in one dimension or a square matrix, got {}",
                                 roots.type().to_string()));
  }
  Array result = ones({1}, roots.dtype());
  for (int64_t i = 0; i < roots.shape()[0]; ++i) {
    result = padded(result, 0, 1) - padded(result, 1, 0) * take(roots, {i});
  }
  return result;
}

}  // namespace farcall::numpy
