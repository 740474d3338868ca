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

}  // namespace farcall::numpy
