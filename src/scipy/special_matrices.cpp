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

// Vectors, in the last dimension.
Array vectors(const Array& x) { return x.rank() == 0 ? np::reshape(x, {1}) : x; }
int64_t length(const Array& x) { return x.shape().back(); }

Array from_second(const Array& x) { return np::take(x, {np::Ellipsis{}, np::Slice{.start = 1}}); }

// The leading dimensions of all vectors.
Shape stack_of(const char* function, std::initializer_list<Array> all) {
  std::vector<std::span<const int64_t>> shapes;
  for (const Array& x : all) shapes.push_back(x.shape().first(x.rank() - 1));
  return with_error_prefix(function, [&] { return np::broadcast_shapes(shapes); });
}

Array broadcast(const Array& x, Shape stack, std::initializer_list<int64_t> last) {
  stack.insert(stack.end(), last);
  return np::broadcast_to(x, stack);
}

// Vectors one after the other, their leading dimensions broadcast.
Array joined(const char* function, std::initializer_list<Array> all) {
  const Shape stack = stack_of(function, all);
  std::vector<Array> parts;
  for (const Array& x : all) parts.push_back(broadcast(x, stack, {length(x)}));
  return np::concatenate(parts, -1);
}

// Matrices whose element (i, j) is number place(i, j) of the vectors.
template <class F>
Array elements_at(const Array& values, int64_t rows, int64_t columns, F&& place) {
  const ShapeDtype type(DType::kInt32, {rows, columns});  // raises if it is too large
  std::vector<int32_t> places;
  places.reserve(static_cast<size_t>(type.size()));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) places.push_back(static_cast<int32_t>(place(i, j)));
  }
  const Array indices = Array::of(std::span<const int32_t>(places), type.shape());
  return np::take(values, {np::Ellipsis{}, indices});
}

// The n x n matrix of these numbers.
template <class F>
Array of_numbers(const char* function, int64_t n, F&& element) {
  if (n < 0) invalid_argument(fmt::format("{}: n must not be negative, got {}", function, n));
  const ShapeDtype type(DType::kFloat64, {n, n});  // raises if it is too large
  std::vector<double> elements;
  elements.reserve(static_cast<size_t>(type.size()));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) elements.push_back(element(i, j));
  }
  return Array::of(std::span<const double>(elements), type.shape());
}

double binomial(int64_t n, int64_t k) {
  double found = 1;
  for (int64_t i = 1; i <= k; ++i) {
    found = std::round(found * static_cast<double>(n - k + i) / static_cast<double>(i));
  }
  return found;
}

void check_pascal_kind(const char* function, std::string_view kind) {
  if (kind == "symmetric" || kind == "lower" || kind == "upper") return;
  invalid_argument(
      fmt::format("{}: kind must be 'symmetric', 'lower' or 'upper', got '{}'", function, kind));
}

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
  const Array column = vectors(c), row = r ? vectors(*r) : np::conjugate(column);
  const Array values = joined("toeplitz", {np::flip(from_second(row), {-1}), column});
  const int64_t m = length(column), n = length(row);
  return np::take(values, {np::Ellipsis{}, row_numbers(m, n) - column_numbers(m, n) + (n - 1)});
}

Array hankel(const Array& c, const std::optional<Array>& r) {
  const Array column = vectors(c), row = r ? vectors(*r) : column * 0;
  const Array values = joined("hankel", {column, from_second(row)});
  const int64_t m = length(column), n = length(row);
  return np::take(values, {np::Ellipsis{}, row_numbers(m, n) + column_numbers(m, n)});
}

Array circulant(const Array& c) {
  const Array column = vectors(c);
  const int64_t n = length(column);
  const Array places = row_numbers(n, n) - column_numbers(n, n);
  return np::take(column, {np::Ellipsis{}, np::remainder(places, std::max<int64_t>(n, 1))});
}

Array companion(const Array& given) {
  const Array a = vectors(given);
  const int64_t size = length(a) - 1;
  if (size < 1) invalid_argument("companion: the polynomial must have at least two coefficients");
  const Array row = -from_second(a) / np::take(a, {np::Ellipsis{}, np::Slice{.stop = 1}});
  const Array below = np::eye(size - 1, size, row.dtype());
  const Array parts[] = {np::expand_dims(row, {-2}),
                         broadcast(below, stack_of("companion", {row}), {size - 1, size})};
  return np::concatenate(parts, -2);
}

Array fiedler_companion(const Array& given) {
  const Array a = vectors(np::promote_inexact(given, "fiedler_companion"));
  const int64_t n = length(a) - 1;
  if (n < 0) invalid_argument("fiedler_companion: the polynomial must have a coefficient");
  const Array scaled = -from_second(a) / np::take(a, {np::Ellipsis{}, np::Slice{.stop = 1}});
  const Array values =
      joined("fiedler_companion", {scaled, np::astype(Array::of<double>({0, 1}), a.dtype())});
  const int64_t zero = n, one = n + 1;
  return elements_at(values, n, n, [&](int64_t i, int64_t j) {
    if (i % 2 != 0) return j == std::max<int64_t>(i - 2, 0) ? one : zero;
    if (j == std::max<int64_t>(i - 1, 0)) return i;
    return j == i + 1 ? j : j == i + 2 ? one : zero;
  });
}

Array leslie(const Array& f_in, const Array& s_in) {
  const Array f = vectors(f_in), s = vectors(s_in);
  const int64_t n = length(f);
  if (n < 2 || length(s) != n - 1) {
    invalid_argument(
        fmt::format("leslie: f must have at least two elements, and s one element "
                    "less; got {} and {}",
                    f.type().to_string(), s.type().to_string()));
  }
  const Array zero = np::zeros({1}, s.dtype());
  return elements_at(joined("leslie", {f, s, zero}), n, n, [&](int64_t i, int64_t j) {
    if (i == 0) return j;
    return j == i - 1 ? n + j : 2 * n - 1;
  });
}

Array convolution_matrix(const Array& a, int64_t n, std::string_view mode) {
  const int64_t m = a.rank() == 0 ? 0 : length(a);
  if (m < 1 || n < 1) {
    invalid_argument(
        fmt::format("convolution_matrix: a must be a vector with elements, and n "
                    "positive; got {} and {}",
                    a.type().to_string(), n));
  }
  if (mode != "full" && mode != "same" && mode != "valid") {
    invalid_argument(
        fmt::format("convolution_matrix: mode must be 'full', 'same' or 'valid', got '{}'", mode));
  }
  const int64_t less = std::min(m, n) - 1;
  const int64_t first = mode == "full" ? 0 : mode == "same" ? less / 2 : less;
  const int64_t rows = m + n - 1 - (mode == "full" ? 0 : mode == "same" ? less : 2 * less);
  const Array values = joined("convolution_matrix", {a, np::zeros({1}, a.dtype())});
  return elements_at(values, rows, n, [&](int64_t i, int64_t j) {
    const int64_t place = i + first - j;
    return place >= 0 && place < m ? place : m;
  });
}

Array hilbert(int64_t n) {
  const Array sums = row_numbers(n, n) + column_numbers(n, n) + 1;
  return 1.0 / np::astype(sums, default_float());
}

Array invhilbert(int64_t n) {
  const Array made = of_numbers("invhilbert", n, [&](int64_t i, int64_t j) {
    const double middle = binomial(i + j, i);
    const double size = static_cast<double>(i + j + 1) * binomial(n + i, n - j - 1) *
                        binomial(n + j, n - i - 1) * middle * middle;
    return (i + j) % 2 == 0 ? size : -size;
  });
  return np::astype(made, default_float());
}

Array helmert(int64_t n, bool full) {
  if (n < 1) invalid_argument(fmt::format("helmert: n must be positive, got {}", n));
  const Array made = of_numbers("helmert", n, [&](int64_t i, int64_t j) {
    if (i == 0) return 1 / std::sqrt(static_cast<double>(n));
    const double k = static_cast<double>(i), norm = std::sqrt(k * (k + 1));
    return j < i ? 1 / norm : j == i ? -k / norm : 0.0;
  });
  const Array rounded = np::astype(made, default_float());
  return full ? rounded : np::take(rounded, {np::Slice{.start = 1}});
}

Array invpascal(int64_t n, std::string_view kind) {
  check_pascal_kind("invpascal", kind);
  const Array lower = of_numbers("invpascal", n, [](int64_t i, int64_t j) {
    if (j > i) return 0.0;
    return (i - j) % 2 == 0 ? binomial(i, j) : -binomial(i, j);
  });
  const Array made = kind == "lower"   ? lower
                     : kind == "upper" ? np::transpose(lower)
                                       : np::matmul(np::transpose(lower), lower);
  return np::astype(made, default_float());
}

Array pascal(int64_t n, std::string_view kind) {
  if (n < 0) invalid_argument(fmt::format("pascal: n must not be negative, got {}", n));
  check_pascal_kind("pascal", kind);
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
