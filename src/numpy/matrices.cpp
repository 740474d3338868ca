#include <farcall/numpy/matrices.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/core/interrupt.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/numpy_statistics.h>

#include "ops/internal/numpy.h"

namespace farcall::numpy {
namespace {

Array column_minus_row(int64_t rows, int64_t columns) {
  const Shape shape = {rows, columns};
  return lax::iota(DType::kInt32, shape, 1) - lax::iota(DType::kInt32, shape, 0);
}

Array integers(const std::vector<int64_t>& values) {
  const auto size = static_cast<int64_t>(values.size());
  if (is_x64()) return Array::of(std::span(values), std::span(&size, 1));
  const std::vector<int32_t> narrow(values.begin(), values.end());
  return Array::of(std::span(narrow), std::span(&size, 1));
}

// The indices of the elements in columns first(row) to last(row) - 1, which must exist.
template <class First, class Last>
std::pair<Array, Array> places_between(int64_t rows, int64_t columns, First first, Last last,
                                       std::string_view function) {
  constexpr int64_t kMax = int64_t{1} << 40;
  if (rows > kMax || columns > kMax || (rows > 0 && columns > kMax / rows)) {
    invalid_argument(
        fmt::format("{}: a matrix of {} times {} elements is too large", function, rows, columns));
  }
  int64_t count = 0;
  for (int64_t i = 0; i < rows; ++i) {
    if (i % 4096 == 0) poll_interrupt();
    count += std::max<int64_t>(last(i) - first(i), 0);
  }
  std::vector<int64_t> row, column;
  row.reserve(static_cast<size_t>(count));
  column.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < rows; ++i) {
    poll_interrupt();
    for (int64_t j = first(i); j < last(i); ++j) {
      row.push_back(i);
      column.push_back(j);
    }
  }
  return {integers(row), integers(column)};
}

void check_matrix(const Array& x, std::string_view function) {
  if (x.rank() == 2) return;
  invalid_argument(fmt::format("{}: needs a matrix, got {}", function, x.type().to_string()));
}

}  // namespace

Array eye(int64_t rows, std::optional<int64_t> columns, int64_t k, std::optional<DType> dtype) {
  const DType made = dtype.value_or(default_float());
  const int64_t num_columns = columns.value_or(rows);
  if (k == 0) return eye(rows, num_columns, made);
  return astype(column_minus_row(rows, num_columns) == k, made);
}

Array tri(int64_t rows, std::optional<int64_t> columns, int64_t k, DType dtype) {
  return astype(column_minus_row(rows, columns.value_or(rows)) <= k, dtype);
}

// k is clamped to the range in which it matters, so nothing overflows.
std::pair<Array, Array> tril_indices(int64_t num_rows, int64_t k, std::optional<int64_t> wanted) {
  const int64_t rows = std::max<int64_t>(num_rows, 0);
  const int64_t columns = std::max<int64_t>(wanted.value_or(rows), 0);
  const int64_t shift = std::clamp(k, -rows - 1, columns);
  return places_between(
      rows, columns, [](int64_t) { return int64_t{0}; },
      [=](int64_t i) { return std::min(i + shift + 1, columns); }, "tril_indices");
}
std::pair<Array, Array> triu_indices(int64_t num_rows, int64_t k, std::optional<int64_t> wanted) {
  const int64_t rows = std::max<int64_t>(num_rows, 0);
  const int64_t columns = std::max<int64_t>(wanted.value_or(rows), 0);
  const int64_t shift = std::clamp(k, -rows - 1, columns);
  return places_between(
      rows, columns, [=](int64_t i) { return std::max<int64_t>(i + shift, 0); },
      [=](int64_t) { return columns; }, "triu_indices");
}

std::pair<Array, Array> tril_indices_from(const Array& x, int64_t k) {
  check_matrix(x, "tril_indices_from");
  return tril_indices(x.shape()[0], k, x.shape()[1]);
}
std::pair<Array, Array> triu_indices_from(const Array& x, int64_t k) {
  check_matrix(x, "triu_indices_from");
  return triu_indices(x.shape()[0], k, x.shape()[1]);
}

Array diag(const Array& v, int64_t k) {
  if (v.rank() == 2) return diagonal(v, k);
  if (v.rank() != 1) {
    invalid_argument(fmt::format("diag: v must be a vector or a matrix, its shape is {}",
                                 shape_to_string(v.shape())));
  }
  const int64_t size = v.shape()[0] + std::abs(k);
  // Each row holds the whole vector, shifted to the diagonal.
  const Array before = zeros({std::max<int64_t>(k, 0)}, v.dtype());
  const Array behind = zeros({std::max<int64_t>(-k, 0)}, v.dtype());
  return where(column_minus_row(size, size) == k, concatenate({before, v, behind}),
               zeros({}, v.dtype()));
}
Array diagflat(const Array& v, int64_t k) { return diag(ravel(v), k); }

Array vander(const Array& x, std::optional<int64_t> wanted, bool increasing) {
  if (x.rank() != 1) {
    invalid_argument(
        fmt::format("vander: x must be a vector, its shape is {}", shape_to_string(x.shape())));
  }
  const int64_t count = wanted.value_or(x.shape()[0]);
  constexpr int64_t kMostColumns = int64_t{1} << 16;  // each column is a separate operation
  if (count < 0 || count > kMostColumns) {
    invalid_argument(fmt::format("vander: N must lie in [0, {}], got {}", kMostColumns, count));
  }
  if (count == 0) return zeros({x.shape()[0], 0}, x.dtype());
  std::vector<Array> powers;
  for (int64_t i = 0; i < count; ++i) powers.push_back(power(x, i));
  if (!increasing) std::ranges::reverse(powers);
  return stack(powers, 1);
}

std::vector<Array> meshgrid(ListOf<Array> vectors, std::string_view indexing, bool sparse) {
  if (indexing != "xy" && indexing != "ij") {
    invalid_argument(fmt::format("meshgrid: indexing must be 'xy' or 'ij', got '{}'", indexing));
  }
  const size_t count = vectors.size();
  const auto dimension_of = [&](size_t i) {
    return indexing == "xy" && count > 1 && i < 2 ? 1 - i : i;
  };
  std::vector<Array> lines;
  Shape shape(count);
  for (size_t i = 0; i < count; ++i) {
    lines.push_back(vectors[i].rank() == 0 ? ravel(vectors[i]) : vectors[i]);
    if (lines[i].rank() != 1) {
      invalid_argument(fmt::format("meshgrid: xi[{}] must be a vector, its shape is {}", i,
                                   shape_to_string(lines[i].shape())));
    }
    shape[dimension_of(i)] = lines[i].shape()[0];
  }
  for (size_t i = 0; i < count; ++i) {
    Shape own(count, 1);
    own[dimension_of(i)] = shape[dimension_of(i)];
    lines[i] = reshape(lines[i], own);
    if (!sparse) lines[i] = broadcast_to(lines[i], shape);
  }
  return lines;
}

std::vector<Array> sparse_indices(ListOf<int64_t> shape, std::optional<DType> dtype) {
  std::vector<Array> lines;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    Shape own(shape.size(), 1);
    own[axis] = shape[axis];
    lines.push_back(lax::iota(dtype.value_or(default_int()), own, static_cast<int64_t>(axis)));
  }
  return lines;
}

Array indices(ListOf<int64_t> shape, std::optional<DType> dtype) {
  std::vector<Array> lines = sparse_indices(shape, dtype);
  if (lines.empty()) return zeros({0}, dtype.value_or(default_int()));
  for (Array& line : lines) line = broadcast_to(line, shape);
  return stack(lines);
}

// ---- covariances

namespace {

// Reshapes to one row per variable.
Array observations(const Array& m, bool rowvar, const char* name) {
  const Array a = promote_inexact(m, "cov");
  if (a.rank() > 2) {
    invalid_argument(fmt::format("cov: {} has more than two dimensions, {}", name, a.rank()));
  }
  if (a.rank() < 2) return reshape(a, {1, -1});
  return rowvar || a.shape()[0] == 1 ? a : transpose(a);
}

std::optional<Array> weights_of(const CovOptions& options, int64_t count) {
  std::optional<Array> weights;
  const auto add = [&](const std::optional<Array>& given, const char* name) {
    if (!given) return;
    if (given->rank() != 1 || given->shape()[0] != count) {
      invalid_argument(
          fmt::format("cov: {} must be one number for each of {} observations, got shape {}", name,
                      count, shape_to_string(given->shape())));
    }
    weights = weights ? *weights * *given : *given;
  };
  add(options.fweights, "fweights");
  add(options.aweights, "aweights");
  return weights;
}

}  // namespace

Array cov(const Array& m, const CovOptions& options) {
  Array x = observations(m, options.rowvar, "m");
  if (options.y) x = concatenate({x, observations(*options.y, options.rowvar, "y")}, 0);
  if (options.dtype) x = astype(x, *options.dtype);
  const int64_t count = x.shape()[1];
  const int64_t ddof = options.ddof.value_or(options.bias ? 0 : 1);
  const std::optional<Array> weights = weights_of(options, count);
  const auto [mean, totals] = average(x, 1, weights);
  const Array total = take(totals, {int64_t{0}});
  Array divisor = count - ddof;
  if (weights) {
    divisor = !options.aweights || ddof == 0
                  ? total - ddof
                  : total - ddof * sum(*weights * *options.aweights) / total;
  }
  const Array centered = x - expand_dims(mean, {1});
  const Array weighted = weights ? centered * *weights : centered;
  return squeeze(matmul(centered, transpose(conjugate(weighted))) / divisor);
}

Array corrcoef(const Array& m, const CovOptions& options) {
  const Array c = cov(m, options);
  if (c.rank() == 0) return c / c;
  const Array deviation = sqrt(real(diagonal(c)));
  const Array scaled = c / expand_dims(deviation, {1}) / expand_dims(deviation, {0});
  const Array parts = clip(real(scaled), -1, 1);
  return is_complex(c.dtype()) ? lax::complex(parts, clip(imag(scaled), -1, 1)) : parts;
}

}  // namespace farcall::numpy
