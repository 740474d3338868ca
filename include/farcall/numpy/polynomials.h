// Polynomials as vectors of coefficients, the highest power first (namespace farcall::numpy).
//
// All raise Error (INVALID_ARGUMENT) naming the function for coefficients in several dimensions.
#pragma once

#include <cstdint>
#include <optional>

#include <farcall/core/export.h>
#include <farcall/trace/array.h>

namespace farcall::numpy {

// The polynomial at x; p may be stacked along further dimensions.
FARCALL_API Array polyval(const Array& p, const Array& x);
FARCALL_API Array polyadd(const Array& a1, const Array& a2);
FARCALL_API Array polysub(const Array& a1, const Array& a2);
// The derivative of this order.
FARCALL_API Array polyder(const Array& p, int64_t order = 1);
// The antiderivative of this order, with as many constants, or one for all; zeros by default.
FARCALL_API Array polyint(const Array& p, int64_t order = 1, const std::optional<Array>& k = {});
// The coefficients of the polynomial with these zeros, or of a matrix's characteristic one.
FARCALL_API Array poly(const Array& zeros);

// The product; first without zeros in front if `trim`, for which the values must be known
// (ConcretizationError).
FARCALL_API Array polymul(const Array& a1, const Array& a2, bool trim = false);
// Quotient and remainder; the remainder keeps zeros in front unless `trim`.
struct PolynomialQuotient {
  Array quotient, remainder;
};
FARCALL_API PolynomialQuotient polydiv(const Array& u, const Array& v, bool trim = false);
// The zeros, complex. Zeros at both ends are first taken away if `strip_zeros`, for which the
// values must be known (ConcretizationError); else the first coefficient must not be zero.
FARCALL_API Array roots(const Array& p, bool strip_zeros = true);

// The polynomial of this degree that is nearest to points (x, y) in the sense of least squares.
enum class PolyfitCovariance { kNone, kScaled, kUnscaled };  // scaled by the residuals
struct PolyfitOptions {
  // Singular values below this part of the largest count as 0; left out, points times eps.
  std::optional<double> rcond = {};
  std::optional<Array> weights = {};  // of the distance of each point
  PolyfitCovariance covariance = PolyfitCovariance::kNone;
};
struct Polyfit {
  Array coefficients;               // [degree + 1], or a column for each of those of y
  Array residuals, rank, singular;  // of the system; see numpy::linalg::lstsq
  double rcond;
  Array covariance;  // of the coefficients; null unless asked for
};
// x has one dimension; y has one, or one and columns. Raises TypeError for other shapes.
FARCALL_API Polyfit polyfit(const Array& x, const Array& y, int64_t degree,
                            const PolyfitOptions& options = {});

}  // namespace farcall::numpy
