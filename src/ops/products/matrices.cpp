// dot, batch_matmul and ragged_dot, by dot_general.
#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/products.h>

#include "ops/internal/rules.h"

namespace farcall::lax {

Array dot(const Array& lhs, const Array& rhs, std::optional<DType> preferred_element_type) {
  const auto is_vector_or_matrix = [](const Array& x) { return x.rank() == 1 || x.rank() == 2; };
  if (!is_vector_or_matrix(lhs) || !is_vector_or_matrix(rhs)) {
    throw TypeError(fmt::format("dot: takes vectors and matrices, got {} and {}",
                                lhs.type().to_string(), rhs.type().to_string()));
  }
  const auto last = static_cast<int64_t>(lhs.rank()) - 1;
  return dot_general(lhs, rhs, {last}, {0}, {}, {}, preferred_element_type);
}

Array batch_matmul(const Array& lhs, const Array& rhs) {
  if (lhs.rank() < 2 || lhs.rank() != rhs.rank()) {
    invalid_argument(fmt::format("batch_matmul: needs stacked matrices of one rank, got {} and {}",
                                 lhs.type().to_string(), rhs.type().to_string()));
  }
  const std::vector<int64_t> batch = all_dimensions(lhs.rank() - 2);
  const auto row = static_cast<int64_t>(batch.size()), column = row + 1;
  return dot_general(lhs, rhs, {column}, {row}, batch, batch);
}

Array ragged_dot(const Array& lhs, const Array& rhs, const Array& group_sizes,
                 std::optional<DType> preferred_element_type) {
  if (lhs.rank() != 2 || rhs.rank() != 3 || group_sizes.rank() != 1 ||
      group_sizes.shape()[0] != rhs.shape()[0] || lhs.shape()[1] != rhs.shape()[1]) {
    invalid_argument(fmt::format(
        "ragged_dot: lhs must be [m, k], rhs [g, k, n] and group_sizes [g], got {}, {} and {}",
        lhs.type().to_string(), rhs.type().to_string(), group_sizes.type().to_string()));
  }
  const auto wanted = [&](const Array& x) {
    return preferred_element_type ? numpy::astype(x, *preferred_element_type) : x;
  };
  const Array x = wanted(lhs), y = wanted(rhs);
  const Array sizes = numpy::astype(group_sizes, DType::kInt32);
  const Array ends = numpy::cumsum(sizes, 0);
  const Array row = iota(DType::kInt32, {x.shape()[0], 1}, 0);
  const Array is_in = numpy::logical_and(numpy::less(row, ends),
                                         numpy::greater_equal(row, numpy::subtract(ends, sizes)));
  // [m, g, k]: each row at the index of its group, zeros elsewhere.
  const Array parts = numpy::where(numpy::expand_dims(is_in, {2}), numpy::expand_dims(x, {1}),
                                   numpy::zeros({}, x.dtype()));
  return numpy::tensordot(parts, y, {1, 2}, {0, 1});
}

}  // namespace farcall::lax
