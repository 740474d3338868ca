#include <farcall/numpy/norms.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/linalg/linalg.h>

#include "numpy/internal/linalg.h"
#include "ops/internal/numpy.h"

namespace farcall::numpy::linalg {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string text_of(const NormOrder& order) {
  if (const auto* number = std::get_if<double>(&order)) return fmt::format("{}", *number);
  const auto* name = std::get_if<std::string>(&order);
  return name ? fmt::format("'{}'", *name) : "none";
}

Array euclidean(const Array& x, const Axes& axes, bool keepdims) {
  return sqrt(sum(real(x * conjugate(x)), axes, keepdims));
}

Array of_matrices(const Array& x, const NormOrder& order, int64_t row, int64_t column,
                  bool keepdims) {
  const auto* name = std::get_if<std::string>(&order);
  const auto* number = std::get_if<double>(&order);
  const Axes both = {row, column};
  if ((!name && !number) || (name && (*name == "fro" || *name == "f"))) {
    return euclidean(x, both, keepdims);
  }
  const double p = number ? *number : 0;
  const auto extreme = [&](const Array& values, int64_t axis, bool keeps) {
    return p > 0 ? max(values, axis, keeps) : min(values, axis, keeps);
  };
  Array result;
  if (number && (std::abs(p) == 1 || std::abs(p) == kInfinity)) {
    const bool by_column = std::abs(p) == 1;
    const Array sums = sum(absolute(x), by_column ? row : column, /*keepdims=*/true);
    result = extreme(sums, by_column ? column : row, /*keeps=*/true);
  } else if ((number && std::abs(p) == 2) || (name && *name == "nuc")) {
    std::vector<int64_t> order_of_axes;
    for (int64_t axis = 0; axis < static_cast<int64_t>(x.rank()); ++axis) {
      if (axis != row && axis != column) order_of_axes.push_back(axis);
    }
    order_of_axes.insert(order_of_axes.end(), {row, column});
    const Array s = farcall::linalg::singular_values(transpose(x, order_of_axes));
    result = expand_dims(name ? sum(s, -1) : extreme(s, -1, /*keeps=*/false),
                         {std::min(row, column), std::max(row, column)});
  } else {
    invalid_argument(fmt::format(
        "norm: ord of a matrix must be \"fro\", \"nuc\", 1, -1, 2, -2, inf or -inf, got {}",
        text_of(order)));
  }
  return keepdims ? result : squeeze(result, both);
}

// The axes in the given order: rows come before columns.
std::vector<int64_t> in_order(const Axes& axes, size_t rank) {
  if (!axes) return normalize_axes(axes, rank, "norm");
  normalize_axes(axes, rank, "norm");
  std::vector<int64_t> result;
  for (const int64_t axis : *axes) result.push_back(normalize_axis(axis, rank, "norm"));
  return result;
}

}  // namespace

Array vector_norm(const Array& x_in, const Axes& axes, bool keepdims, const NormOrder& order) {
  const Array x = strong_inexact(x_in, "norm");
  if (std::holds_alternative<std::string>(order)) {
    invalid_argument(fmt::format("norm: ord of a vector must be a number, got {}", text_of(order)));
  }
  const auto* number = std::get_if<double>(&order);
  const double p = number ? *number : 2;
  if (p == 2) return euclidean(x, axes, keepdims);
  const Array size = absolute(x);
  if (p == kInfinity) return max(size, axes, keepdims);
  if (p == -kInfinity) return min(size, axes, keepdims);
  if (p == 0) return sum(astype(x != 0, size.dtype()), axes, keepdims);
  if (p == 1) return sum(size, axes, keepdims);
  // Powers with an integer exponent are computed by multiplication.
  const bool is_whole = p == std::trunc(p) && std::abs(p) < 1e9;
  const Array exponent = is_whole ? Array(static_cast<int64_t>(p)) : Array(p);
  return power(sum(power(size, exponent), axes, keepdims), 1 / p);
}

Array matrix_norm(const Array& x, bool keepdims, const NormOrder& order) {
  const auto rank = static_cast<int64_t>(x.rank());
  if (rank < 2) {
    invalid_argument(fmt::format("matrix_norm: x must have at least two dimensions, got {}",
                                 x.type().to_string()));
  }
  return of_matrices(strong_inexact(x, "matrix_norm"), order, rank - 2, rank - 1, keepdims);
}

Array norm(const Array& x_in, const NormOrder& order, const Axes& axes, bool keepdims) {
  const Array x = strong_inexact(x_in, "norm");
  if (!axes && std::holds_alternative<std::monostate>(order)) {
    return vector_norm(x, {}, keepdims);
  }
  const std::vector<int64_t> which = in_order(axes, x.rank());
  if (which.size() == 1) return vector_norm(x, which, keepdims, order);
  if (which.size() == 2) return of_matrices(x, order, which[0], which[1], keepdims);
  invalid_argument(fmt::format("norm: takes one axis or two, got {}", shape_to_string(which)));
}

}  // namespace farcall::numpy::linalg
