// Polynomials as vectors of coefficients, the highest power first (namespace farcall::numpy).
//
// All raise Error (INVALID_ARGUMENT) naming the function if the coefficients have several
// dimensions.
#pragma once

#include <cstdint>
#include <optional>

#include <farcall/core/export.h>
#include <farcall/trace/array.h>

namespace farcall::numpy {

// Evaluates the polynomial at x; p may have further dimensions for a stack of polynomials.
FARCALL_API Array polyval(const Array& p, const Array& x);
FARCALL_API Array polyadd(const Array& a1, const Array& a2);
FARCALL_API Array polysub(const Array& a1, const Array& a2);
// The derivative of order `order`.
FARCALL_API Array polyder(const Array& p, int64_t order = 1);
// The antiderivative of order `order`. `k` holds that many integration constants, or one for all;
// default zeros.
FARCALL_API Array polyint(const Array& p, int64_t order = 1, const std::optional<Array>& k = {});
// The coefficients of the polynomial with these roots, or of the characteristic polynomial of a
// matrix.
FARCALL_API Array poly(const Array& zeros);

// The product. With `trim`, leading zeros of the operands are removed first; the values must then
// be known (else ConcretizationError).
FARCALL_API Array polymul(const Array& a1, const Array& a2, bool trim = false);
// Quotient and remainder; the remainder keeps leading zeros unless `trim`.
struct PolynomialQuotient {
  Array quotient, remainder;
};
FARCALL_API PolynomialQuotient polydiv(const Array& u, const Array& v, bool trim = false);
// The complex roots. With `strip_zeros`, leading and trailing zeros are removed first; the values
// must then be known (else ConcretizationError). Otherwise the first coefficient must not be
// zero.
FARCALL_API Array roots(const Array& p, bool strip_zeros = true);

// The least-squares fit of a polynomial of this degree to points (x, y).
enum class PolyfitCovariance { kNone, kScaled, kUnscaled };  // scaled by the residuals
struct PolyfitOptions {
  // Singular values below this fraction of the largest count as 0; default: the number of points
  // times eps.
  std::optional<double> rcond = {};
  std::optional<Array> weights = {};  // of the residual of each point
  PolyfitCovariance covariance = PolyfitCovariance::kNone;
};
struct Polyfit {
  Array coefficients;               // [degree + 1], or that for each column of y
  Array residuals, rank, singular;  // of the linear system; see numpy::linalg::lstsq
  double rcond;
  Array covariance;  // of the coefficients; null unless requested
};
// x is a vector; y is a vector or a matrix of columns. Raises TypeError for other shapes.
FARCALL_API Polyfit polyfit(const Array& x, const Array& y, int64_t degree,
                            const PolyfitOptions& options = {});

}  // namespace farcall::numpy
