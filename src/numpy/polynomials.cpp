#include <farcall/numpy/polynomials.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/linalg/linalg.h>
#include <farcall/numpy/linalg.h>
#include <farcall/numpy/matrices.h>
#include <farcall/numpy/products.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_indexing.h>
#include <farcall/trace/compile_time.h>
#include <farcall/trace/origin.h>

#include "linalg/internal/epsilon.h"
#include "ops/internal/numpy.h"

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

// Pads the shorter operand with leading zeros.
std::pair<Array, Array> of_one_length(const Array& a, const Array& b) {
  const int64_t size = std::max(a.shape()[0], b.shape()[0]);
  return {padded(a, size - a.shape()[0], 0), padded(b, size - b.shape()[0], 0)};
}

// size, size - 1, …, 1.
Array powers(int64_t size) {
  return astype(size - lax::iota(DType::kInt32, {size}, 0), DType::kFloat32);
}

// For each coefficient, whether it is nonzero.
std::vector<bool> known_nonzeros(const Array& p, const char* function) {
  if (!p.has_known_values()) {
    throw ConcretizationError(
        fmt::format("{}: which coefficients are zero depends on the values of a traced {}: {}. To "
                    "fix this, leave zeros where they are, or {}",
                    function, p.type().to_string(), why_unknown(p), how_to_know(p)));
  }
  const CompileTimeEval eval;
  const Array flags = as_bool(Array(p.type(), p.storage()));
  const std::span<const bool> values = flags.values<bool>();
  return {values.begin(), values.end()};
}

// Removes leading zeros; a zero polynomial keeps one coefficient.
Array without_leading_zeros(const Array& p, const char* function) {
  const std::vector<bool> flags = known_nonzeros(p, function);
  const auto first = std::ranges::find(flags, true) - flags.begin();
  const auto last = std::max<int64_t>(p.shape()[0] - 1, 0);
  return take(p, {Slice{.start = std::min<int64_t>(first, last)}});
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
  Array roots = atleast_1d(promote_inexact(zeros_in, "poly"));
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

Array polymul(const Array& a1, const Array& a2, bool trim) {
  Array a = coefficients(a1, "polymul", "a1"), b = coefficients(a2, "polymul", "a2");
  if (trim) {
    a = without_leading_zeros(a, "polymul");
    b = without_leading_zeros(b, "polymul");
  }
  return convolve(a, b);
}

PolynomialQuotient polydiv(const Array& u, const Array& v, bool trim) {
  Array a = promote_inexact(coefficients(u, "polydiv", "u"), "polydiv");
  const Array b = promote_inexact(coefficients(v, "polydiv", "v"), "polydiv");
  const int64_t size = b.shape()[0], count = a.shape()[0] - size + 1;
  const ShapeDtype types[] = {a.type(), b.type()};
  const DType dtype = with_error_prefix("polydiv", [&] { return promote_types(types).dtype; });
  Array quotient = zeros({std::max<int64_t>(count, 1)}, dtype);
  for (int64_t i = 0; i < count; ++i) {
    const Array factor = take(a, {i}) / take(b, {0});
    quotient = update(quotient, {i}, factor, Update::kSet);
    a = update(a, {Slice{.start = i, .stop = i + size}}, negative(factor) * b, Update::kAdd);
  }
  return {quotient, trim ? without_leading_zeros(a, "polydiv") : a};
}

Array roots(const Array& p_in, bool strip_zeros) {
  Array p = promote_inexact(coefficients(p_in, "roots"), "roots");
  int64_t zeros_behind = 0;
  if (strip_zeros) {
    const std::vector<bool> flags = known_nonzeros(p, "roots");
    const auto first = std::ranges::find(flags, true) - flags.begin();
    if (first == std::ssize(flags)) return zeros({0}, DType::kComplex64);
    zeros_behind = std::ranges::find(flags.rbegin(), flags.rend(), true) - flags.rbegin();
    p = take(p, {Slice{.start = first, .stop = std::ssize(flags) - zeros_behind}});
  }
  const int64_t size = p.shape()[0] - 1;
  Array found = zeros({0}, DType::kComplex64);
  if (size > 0) {
    const Array below =
        size > 1 ? diag(ones({size - 1}, p.dtype()), -1) : zeros({size, size}, p.dtype());
    const Array first_row = negative(take(p, {Slice{.start = 1}})) / take(p, {0});
    found = linalg::eigvals(update(below, {0}, first_row, Update::kSet));
  }
  return concatenate({found, zeros({zeros_behind}, found.dtype())}, 0);
}

Polyfit polyfit(const Array& x_in, const Array& y_in, int64_t degree,
                const PolyfitOptions& options) {
  const Array x = promote_inexact(x_in, "polyfit"), y = promote_inexact(y_in, "polyfit");
  constexpr int64_t kMostDegree = int64_t{1} << 15;
  if (degree < 0 || degree > kMostDegree) {
    invalid_argument(
        fmt::format("polyfit: the degree must lie in [0, {}], got {}", kMostDegree, degree));
  }
  if (x.rank() != 1 || (y.rank() != 1 && y.rank() != 2) || x.shape()[0] != y.shape()[0] ||
      x.shape()[0] == 0) {
    throw TypeError(
        fmt::format("polyfit: x must be a vector and y one or several of its length, got {} and {}",
                    x.type().to_string(), y.type().to_string()));
  }
  const int64_t size = degree + 1, points = x.shape()[0];
  Polyfit fit;
  fit.rcond =
      options.rcond.value_or(static_cast<double>(points) * farcall::linalg::epsilon(x.dtype()));
  const auto as_column = [](const Array& vector) { return expand_dims(vector, {1}); };
  Array rows = vander(x, size), values = y;
  if (options.weights) {
    const Array weights = promote_inexact(*options.weights, "polyfit");
    rows = rows * as_column(weights);
    values = y * (y.rank() == 1 ? weights : as_column(weights));
  }
  const Array scale = sqrt(sum(rows * rows, 0));
  const linalg::Lstsq found = linalg::lstsq(rows / scale, values, {.rcond = fit.rcond});
  fit.coefficients = transpose(transpose(found.x) / scale);
  fit.residuals = found.residuals;
  fit.rank = found.rank;
  fit.singular = found.s;
  if (options.covariance == PolyfitCovariance::kNone) return fit;
  const Array scales = outer(scale, scale);
  const Array base = linalg::inv(matmul(transpose(rows), rows) / scales) / scales;
  fit.covariance = base;
  if (options.covariance == PolyfitCovariance::kUnscaled) return fit;
  if (points <= size) {
    invalid_argument("polyfit: for covariances there must be more points than coefficients");
  }
  const Array factor = found.residuals / (points - size);
  fit.covariance = (y.rank() == 1 ? base : expand_dims(base, {2})) * factor;
  return fit;
}

}  // namespace farcall::numpy
