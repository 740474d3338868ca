#include <farcall/numpy/linalg.h>

#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/core/sizes.h>
#include <farcall/numpy/products.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/trace/origin.h>

#include "linalg/internal/arrays.h"
#include "linalg/internal/epsilon.h"
#include "numpy/internal/linalg.h"
#include "ops/internal/numpy.h"

namespace farcall::numpy::linalg {
namespace {

namespace strict = farcall::linalg;
using strict::adjoint;

int64_t product_of(std::span<const int64_t> sizes) {
  int64_t product = 1;
  for (const int64_t size : sizes) product = checked_product(product, size);
  return product;
}

Array row_of(const Array& x) { return take(x, {Ellipsis{}, NewAxis{}, Slice{}}); }

// The eigenvectors and eigenvalues of a Hermitian matrix, in descending order of modulus.
strict::Eigh by_modulus(const Array& a, const SvdOptions& options) {
  const auto [v, w] = strict::eigh(a);
  // The sorting permutation matrix: row i of column j is 1 if element j of the result comes from i.
  const Array order = argsort(absolute(w), -1, /*descending=*/true);
  const int64_t size = w.shape().back();
  const Array numbers = lax::iota(DType::kInt32, {size, 1}, 0);
  const Array sorting = strict::last_part("svd", equal(numbers, row_of(order)), options.subset);
  const Array values =
      take(matmul(row_of(w), astype(sorting, w.dtype())), {Ellipsis{}, 0, Slice{}});
  return {matmul(v, astype(sorting, v.dtype())), values};
}

// The shape of numpy's residuals depends on the rank.
bool is_full_rank(const Array& rank, int64_t size) {
  if (!rank.has_known_values()) {
    throw ConcretizationError(fmt::format(
        "lstsq: with numpy_resid the number of residuals depends on the rank of a traced matrix, "
        "which is not known: {}. Leave numpy_resid out, or {}",
        why_unknown(rank), how_to_know(rank)));
  }
  return (is_x64() ? rank.item<int64_t>() : rank.item<int32_t>()) >= size;
}

// The cheapest order to multiply matrices, where number i is sizes[i] by sizes[i + 1]:
// cuts[first][last] is where to divide the product of the matrices first … last. T. Cormen et al.,
// Introduction to Algorithms, 15.2.
std::vector<std::vector<size_t>> best_cuts(const std::vector<double>& sizes) {
  const size_t count = sizes.size() - 1;
  std::vector<std::vector<size_t>> cuts(count, std::vector<size_t>(count));
  std::vector<std::vector<double>> costs(count, std::vector<double>(count));
  for (size_t length = 2; length <= count; ++length) {
    for (size_t first = 0; first + length <= count; ++first) {
      const size_t last = first + length - 1;
      costs[first][last] = std::numeric_limits<double>::infinity();
      for (size_t cut = first; cut < last; ++cut) {
        const double cost = costs[first][cut] + costs[cut + 1][last] +
                            sizes[first] * sizes[cut + 1] * sizes[last + 1];
        if (cost >= costs[first][last]) continue;
        costs[first][last] = cost;
        cuts[first][last] = cut;
      }
    }
  }
  return cuts;
}

Array product_of_parts(const std::vector<Array>& parts,
                       const std::vector<std::vector<size_t>>& cuts, size_t first, size_t last) {
  if (first == last) return parts[first];
  const size_t cut = cuts[first][last];
  return matmul(product_of_parts(parts, cuts, first, cut),
                product_of_parts(parts, cuts, cut + 1, last));
}

}  // namespace

Array strong_inexact(const Array& x, std::string_view function) {
  return strengthen(promote_inexact(x, function));
}

std::pair<Array, Array> strong_inexact(const Array& x, const Array& y, std::string_view function) {
  const ShapeDtype types[] = {x.type(), y.type()};
  return with_error_prefix(function, [&] {
    const PromotedDType to = {promote_to_inexact(types).dtype, false};
    return std::pair(convert(x, to), convert(y, to));
  });
}

// ---- factorizations ----

Array cholesky(const Array& a, bool upper, bool symmetrize_input) {
  const Array factor = strict::cholesky(strong_inexact(a, "cholesky"), symmetrize_input);
  return upper ? adjoint(factor) : factor;
}

strict::Qr qr(const Array& a, bool complete) {
  return strict::qr(strong_inexact(a, "qr"), complete);
}

strict::Geqrf raw_qr(const Array& a) {
  const auto [factors, taus] = strict::geqrf(strong_inexact(a, "qr"));
  return {swapaxes(factors, -1, -2), taus};
}

strict::Svd svd(const Array& a_in, const SvdOptions& options) {
  const Array a = strong_inexact(a_in, "svd");
  if (options.hermitian) {
    const auto [u, values] = by_modulus(a, options);
    return {u, absolute(values), adjoint(multiply(u, row_of(sign(values))))};
  }
  return strict::svd(a, options.full_matrices, options.subset);
}

Array svdvals(const Array& a_in, const SvdOptions& options) {
  const Array a = strong_inexact(a_in, "svd");
  if (options.hermitian) return absolute(by_modulus(a, options).w);
  return strict::singular_values(a, options.subset);
}

strict::Eigh eigh(const Array& a, bool lower, bool symmetrize_input) {
  return strict::eigh(strong_inexact(a, "eigh"), lower, symmetrize_input);
}

strict::Eig eig(const Array& a) {
  return strict::eig(strong_inexact(a, "eig"), /*left=*/false, /*right=*/true);
}

Array eigvals(const Array& a) {
  return strict::eig(strong_inexact(a, "eigvals"), /*left=*/false, /*right=*/false).w;
}

// ---- systems ----

Array solve(const Array& a_in, const Array& b_in) {
  const auto [a, b] = strong_inexact(a_in, b_in, "solve");
  return strict::solve(a, b);
}

Array inv(const Array& a) { return strict::inv(strong_inexact(a, "inv")); }

Array pinv(const Array& a, const std::optional<Array>& rcond, bool hermitian) {
  return strict::pinv(strong_inexact(a, "pinv"), rcond, hermitian);
}

Lstsq lstsq(const Array& a_in, const Array& b_in, const LstsqOptions& options) {
  const auto [a, b] = strong_inexact(a_in, b_in, "lstsq");
  if (a.rank() != 2 || (b.rank() != 1 && b.rank() != 2) || a.shape()[0] != b.shape()[0]) {
    invalid_argument(
        fmt::format("lstsq: a must be one matrix and b match its rows, got b {} and a {}",
                    shape_to_string(b.shape()), shape_to_string(a.shape())));
  }
  const Array columns = b.rank() == 1 ? expand_dims(b, {1}) : b;
  const int64_t rows = a.shape()[0], size = a.shape()[1];
  const DType real_dtype = strict::real_dtype(a.dtype());
  Lstsq result;
  Array x;
  if (a.size() == 0) {
    result.s = zeros({0}, real_dtype);
    x = zeros({size, columns.shape()[1]}, a.dtype());
    result.rank = zeros({}, default_int());
  } else {
    const auto [u, s, vh] = strict::svd(a, /*full_matrices=*/false);
    const bool is_given = options.rcond && *options.rcond >= 0;
    const double rcond =
        is_given ? *options.rcond
                 : strict::epsilon(s.dtype()) * static_cast<double>(std::max(rows, size));
    const Array kept = greater_equal(s, rcond * take(s, {0}));
    const Array inverse = where(kept, divide(1, where(kept, s, 1)), 0);
    const Array weights = expand_dims(astype(inverse, a.dtype()), {1});
    result.s = s;
    result.rank = sum(kept);
    x = matmul(adjoint(vh), weights * matmul(adjoint(u), columns));
  }
  const Array misfit = absolute(columns - matmul(a, x));
  result.residuals = sum(misfit * misfit, 0);
  const bool keeps_residuals = [&] {
    if (!options.numpy_residuals) return true;
    return rows > size && (size == 0 || is_full_rank(result.rank, size));
  }();
  if (!keeps_residuals) result.residuals = zeros({0}, real_dtype);
  result.x = b.rank() == 1 ? take(x, {Slice{}, 0}) : x;
  return result;
}

Array tensorinv(const Array& a_in, int64_t ind) {
  const Array a = strong_inexact(a_in, "tensorinv");
  if (ind <= 0) invalid_argument(fmt::format("tensorinv: ind must be positive, got {}", ind));
  const auto split_at = std::min(static_cast<size_t>(ind), a.rank());
  const auto first = a.shape().first(split_at), rest = a.shape().subspan(split_at);
  Shape shape(rest.begin(), rest.end());
  shape.insert(shape.end(), first.begin(), first.end());
  return reshape(strict::inv(reshape(a, {-1, product_of(rest)})), shape);
}

Array tensorsolve(const Array& a_in, const Array& b_in, ListOf<int64_t> axes) {
  auto [a, b] = strong_inexact(a_in, b_in, "tensorsolve");
  for (const int64_t axis : axes) a = moveaxis(a, axis, static_cast<int64_t>(a.rank()) - 1);
  const auto shape = a.shape().subspan(std::min(a.rank(), b.rank()));
  const Array flat = strict::solve(reshape(a, {-1, product_of(shape)}), reshape(b, {-1}));
  return reshape(flat, shape);
}

// ---- scalars of a matrix ----

Array det(const Array& a) { return strict::det(strong_inexact(a, "det")); }

strict::SlogDet slogdet(const Array& a) { return strict::slogdet(strong_inexact(a, "slogdet")); }

Array matrix_rank(const Array& m_in, const std::optional<Array>& rtol, bool hermitian) {
  const Array m = strong_inexact(m_in, "matrix_rank");
  if (m.rank() < 2) return astype(any(not_equal(m, 0)), default_int());
  const Array s = svdvals(m, {.hermitian = hermitian});
  const auto larger = static_cast<double>(std::max(strict::rows(m), strict::columns(m)));
  const Array part = rtol ? *rtol : Array(larger * strict::epsilon(s.dtype()));
  return sum(greater(s, max(s, -1, /*keepdims=*/true) * part), -1);
}

Array cond(const Array& x_in, const NormOrder& order) {
  const Array x = strong_inexact(x_in, "cond");
  const auto* number = std::get_if<double>(&order);
  const bool is_default = std::holds_alternative<std::monostate>(order);
  if (is_default || (number && (*number == 2 || *number == -2))) {
    const Array s = strict::singular_values(x);
    const Array largest = take(s, {Ellipsis{}, 0}), least = take(s, {Ellipsis{}, -1});
    return is_default || *number == 2 ? largest / least : least / largest;
  }
  const Array product = matrix_norm(x, /*keepdims=*/false, order) *
                        matrix_norm(strict::inv(x), /*keepdims=*/false, order);
  const Array from_nan = any(isnan(x), {-2, -1});
  return where(logical_or(logical_not(isnan(product)), from_nan), product,
               std::numeric_limits<double>::infinity());
}

// ---- products ----

Array matrix_power(const Array& a, int64_t n) {
  if (a.rank() < 2 || strict::rows(a) != strict::columns(a)) {
    invalid_argument(
        fmt::format("matrix_power: takes square matrices, got {}", shape_to_string(a.shape())));
  }
  if (n == 0) return broadcast_to(eye(strict::columns(a), {}, a.dtype()), a.shape());
  Array square = n < 0 ? inv(a) : a;
  auto left = n < 0 ? -static_cast<uint64_t>(n) : static_cast<uint64_t>(n);
  Array result;
  for (; left > 1; left >>= 1) {
    if (left & 1) result = result.is_null() ? square : matmul(result, square);
    square = matmul(square, square);
  }
  return result.is_null() ? square : matmul(result, square);
}

Array multi_dot(ListOf<Array> arrays) {
  constexpr size_t kMost = 1000;  // the work is cubic in the number of matrices
  if (arrays.size() < 2 || arrays.size() > kMost) {
    invalid_argument(
        fmt::format("multi_dot: takes two arrays or more, up to {}, got {}", kMost, arrays.size()));
  }
  std::vector<Array> parts(arrays.begin(), arrays.end());
  const bool first_is_row = parts.front().rank() == 1, last_is_column = parts.back().rank() == 1;
  if (first_is_row) parts.front() = expand_dims(parts.front(), {0});
  if (last_is_column) parts.back() = expand_dims(parts.back(), {1});
  std::vector<double> sizes;
  for (const Array& part : parts) {
    if (part.rank() != 2) {
      invalid_argument(fmt::format("multi_dot: takes matrices, got an array of shape {}",
                                   shape_to_string(part.shape())));
    }
    if (sizes.empty()) sizes.push_back(static_cast<double>(part.shape()[0]));
    sizes.push_back(static_cast<double>(part.shape()[1]));
  }
  Array result = product_of_parts(parts, best_cuts(sizes), 0, parts.size() - 1);
  if (first_is_row) result = take(result, {0});
  return last_is_column ? take(result, {Ellipsis{}, 0}) : result;
}

Array cross(const Array& x, const Array& y, int64_t axis) {
  const auto size_of = [&](const Array& vectors) {
    return vectors.shape()[normalize_axis(axis, vectors.rank(), "cross")];
  };
  if (size_of(x) != 3 || size_of(y) != 3) {
    invalid_argument(fmt::format("cross: both must have 3 elements along axis {}, got {}, {}", axis,
                                 x.type().to_string(), y.type().to_string()));
  }
  return numpy::cross(x, y, {axis, axis, axis});
}

// ---- diagonals ----

Array matrix_transpose(const Array& x) { return swapaxes(x, -1, -2); }

Array diagonal(const Array& x, int64_t offset) { return numpy::diagonal(x, offset, -2, -1); }

Array trace(const Array& x, int64_t offset, std::optional<DType> dtype) {
  return numpy::trace(x, offset, -2, -1, dtype);
}

}  // namespace farcall::numpy::linalg
