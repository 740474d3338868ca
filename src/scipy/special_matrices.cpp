#include <farcall/scipy/special_matrices.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <numbers>
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
#include <farcall/ops/promotion.h>

#include "ops/internal/numpy.h"

namespace farcall::linalg {
namespace {

namespace np = numpy;

Array rows_from_second(const Array& x) { return np::take(x, {np::Slice{.start = 1}}); }

// The row and the column number of each element.
Array row_numbers(int64_t rows, int64_t columns) {
  return lax::iota(DType::kInt32, {rows, columns}, 0);
}
Array column_numbers(int64_t rows, int64_t columns) {
  return lax::iota(DType::kInt32, {rows, columns}, 1);
}

}  // namespace

Array block_diag(ListOf<Array> given) {
  std::vector<Array> blocks(given.begin(), given.end());
  if (blocks.empty()) blocks.push_back(np::zeros({1, 0}, default_float()));
  bool fits = true;
  int64_t width = 0;
  std::string types;
  std::vector<ShapeDtype> dtypes;
  for (Array& block : blocks) {
    types += (types.empty() ? "" : ", ") + block.type().to_string();
    fits = fits && block.rank() <= 2;
    if (block.rank() < 2) block = np::reshape(block, {1, -1});
    width += block.shape()[1];
    dtypes.push_back(block.type());
  }
  if (!fits) invalid_argument("block_diag: takes matrices, got " + types);
  const DType dtype = with_error_prefix("block_diag", [&] { return promote_types(dtypes).dtype; });
  int64_t before = 0;
  for (Array& block : blocks) {
    const int64_t own = block.shape()[1];
    const np::PadWidths widths = {{0, 0}, {before, width - before - own}};
    block = np::astype(np::pad(block, widths, Array(0)), dtype);
    before += own;
  }
  return np::concatenate(blocks, 0);
}

Array toeplitz(const Array& c, const std::optional<Array>& r) {
  const Array column = np::ravel(c), row = r ? np::ravel(*r) : np::conjugate(column);
  const Array values = np::concatenate({np::flip(rows_from_second(row)), column}, 0);
  const int64_t m = column.shape()[0], n = row.shape()[0];
  return np::take(values, {row_numbers(m, n) - column_numbers(m, n) + (n - 1)});
}

Array hankel(const Array& c, const std::optional<Array>& r) {
  const Array column = np::ravel(c), row = r ? np::ravel(*r) : column * 0;
  const Array values = np::concatenate({column, rows_from_second(row)}, 0);
  const int64_t m = column.shape()[0], n = row.shape()[0];
  return np::take(values, {row_numbers(m, n) + column_numbers(m, n)});
}

Array circulant(const Array& c) {
  const Array column = np::ravel(c);
  const int64_t n = column.shape()[0];
  const Array places = row_numbers(n, n) - column_numbers(n, n);
  return np::take(column, {np::remainder(places, std::max<int64_t>(n, 1))});
}

Array companion(const Array& a_in) {
  const Array a = np::ravel(a_in);
  const int64_t size = a.shape()[0] - 1;
  if (size < 1) invalid_argument("companion: the polynomial must have at least two coefficients");
  const Array row = -rows_from_second(a) / np::take(a, {int64_t{0}});
  const Array below = np::eye(size - 1, size, row.dtype());
  return np::concatenate({np::expand_dims(row, {0}), below}, 0);
}

Array hilbert(int64_t n) {
  const Array sums = row_numbers(n, n) + column_numbers(n, n) + 1;
  return 1.0 / np::astype(sums, default_float());
}

Array pascal(int64_t n, std::string_view kind) {
  if (n < 0) invalid_argument(fmt::format("pascal: n must not be negative, got {}", n));
  if (kind != "symmetric" && kind != "lower" && kind != "upper") {
    invalid_argument(
        fmt::format("pascal: kind must be 'symmetric', 'lower' or 'upper', got '{}'", kind));
  }
  const bool is_symmetric = kind == "symmetric";
  const ShapeDtype type(DType::kFloat64, {n, n});  // raises if it is too large
  std::vector<double> elements(static_cast<size_t>(type.size()), 0.0);
  const auto at = [&](int64_t i, int64_t j) -> double& { return elements[i * n + j]; };
  for (int64_t i = 0; i < n; ++i) {
    at(i, 0) = 1;
    if (is_symmetric) at(0, i) = 1;
  }
  for (int64_t i = 1; i < n; ++i) {
    for (int64_t j = 1; j < (is_symmetric ? n : i + 1); ++j) {
      at(i, j) = at(i - 1, j) + (is_symmetric ? at(i, j - 1) : at(i - 1, j - 1));
    }
  }
  const Array made =
      np::astype(Array::of(std::span<const double>(elements), type.shape()), DType::kFloat32);
  return kind == "upper" ? np::transpose(made) : made;
}

Array fiedler(const Array& given) {
  const Array a = given.rank() == 0 ? np::reshape(given, {1}) : given;
  return np::absolute(np::expand_dims(a, {-1}) - np::expand_dims(a, {-2}));
}

Array hadamard(int64_t n, DType dtype) {
  if (n < 1 || (n & (n - 1)) != 0) {
    invalid_argument(fmt::format("hadamard: n must be a power of two, got {}", n));
  }
  std::vector<int32_t> elements;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      elements.push_back(std::popcount(static_cast<uint64_t>(i & j)) % 2 ? -1 : 1);
    }
  }
  const int64_t shape[] = {n, n};
  return np::astype(Array::of(std::span<const int32_t>(elements), std::span(shape)), dtype);
}

Array dft(int64_t n_in, std::optional<std::string_view> scale) {
  if (scale && *scale != "sqrtn" && *scale != "n") {
    invalid_argument(fmt::format("dft: scale must be \"sqrtn\", \"n\" or None, got '{}'", *scale));
  }
  const int64_t n = std::max<int64_t>(n_in, 0);
  const auto size = static_cast<double>(std::max<int64_t>(n, 1));
  const double divisor = !scale ? 1 : *scale == "n" ? size : std::sqrt(size);
  std::vector<std::complex<double>> wide;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const double angle = -2 * std::numbers::pi * static_cast<double>(i * j % n) / size;
      wide.push_back(std::polar(1.0, angle) / divisor);
    }
  }
  const int64_t shape[] = {n, n};
  if (is_x64()) return Array::of(std::span<const std::complex<double>>(wide), std::span(shape));
  const std::vector<std::complex<float>> narrow(wide.begin(), wide.end());
  return Array::of(std::span<const std::complex<float>>(narrow), std::span(shape));
}

Polar polar(const Array& a_in, std::string_view side) {
  if (side != "right" && side != "left") {
    invalid_argument(fmt::format("polar: side must be \"right\" or \"left\", got '{}'", side));
  }
  const Array a = strengthen(np::promote_inexact(a_in, "polar"));
  const auto [u, s, vh] = svd(a, /*full_matrices=*/false);
  const auto adjoint = [](const Array& x) { return np::conjugate(np::swapaxes(x, -1, -2)); };
  const Array scaled = np::expand_dims(np::astype(s, a.dtype()), {-2});
  const Array p =
      side == "right" ? np::matmul(adjoint(vh) * scaled, vh) : np::matmul(u * scaled, adjoint(u));
  return {np::matmul(u, vh), p};
}

}  // namespace farcall::linalg
