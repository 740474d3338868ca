// Elementwise functions composed of those in ops/numpy.h (namespace farcall::numpy); see there for
// common rules. Floating-point functions promote integers to floats.
#pragma once

#include <cstdint>
#include <optional>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/array.h>

namespace farcall::numpy {

// ---- rounding ----
// Rounds to this many decimals, halves to even; integers stay unchanged. Raises UNIMPLEMENTED for
// integers with decimals < 0, INVALID_ARGUMENT if 10^decimals is out of the range of the dtype.
FARCALL_API Array round(const Array& x, int64_t decimals = 0);
FARCALL_API Array trunc(const Array& x);  // rounds toward zero
FARCALL_API Array fix(const Array& x);    // the same, but integers become floats
// The fractional and the integral part, both with the sign of x.
struct Parts {
  Array fraction, whole;
};
FARCALL_API Parts modf(const Array& x);

// ---- arithmetic ----
// The remainder with the sign of the dividend; 0 for integers divided by zero.
FARCALL_API Array fmod(const Array& x, const Array& y);
FARCALL_API Array reciprocal(const Array& x);
FARCALL_API Array float_power(const Array& x, const Array& y);  // power of floats
FARCALL_API Array fabs(const Array& x);                         // absolute of floats
// The larger or smaller operand; if one is NaN, the other one.
FARCALL_API Array fmax(const Array& x, const Array& y);
FARCALL_API Array fmin(const Array& x, const Array& y);
// 0 for x < 0, 1 for x > 0, `at_zero` for x = 0.
FARCALL_API Array heaviside(const Array& x, const Array& at_zero);
FARCALL_API Array ldexp(const Array& x, const Array& exponent);  // x 2^exponent
// x = fraction * 2^exponent with 0.5 <= |fraction| < 1; exponents are int32. For zeros, infinities
// and NaN, the fraction is x and the exponent is 0. Raises TypeError for complex numbers.
struct Mantissa {
  Array fraction, exponent;
};
FARCALL_API Mantissa frexp(const Array& x);
FARCALL_API Array degrees(const Array& x);
FARCALL_API Array radians(const Array& x);
// The argument of complex numbers.
FARCALL_API Array angle(const Array& z, bool in_degrees = false);

// ---- signs and bits; raise INVALID_ARGUMENT for complex numbers ----
// True if the sign bit is set: for negative numbers, -0.0, and NaNs with that bit.
FARCALL_API Array signbit(const Array& x);
FARCALL_API Array copysign(const Array& x, const Array& sign);
FARCALL_API Array nextafter(const Array& x, const Array& toward);
// The distance to the next number of the dtype with a larger absolute value.
FARCALL_API Array spacing(const Array& x);
// The number of one bits in the absolute value, uint8.
FARCALL_API Array bitwise_count(const Array& x);
// Packs eight elements into each byte, along an axis or of the flattened array. A bit is 1 if its
// element is nonzero; `order` says whether the first element is the highest or the lowest bit.
// Raises TypeError unless x is of integers or bools.
enum class BitOrder { kBig, kLittle };
FARCALL_API Array packbits(const Array& x, std::optional<int64_t> axis = {},
                           BitOrder order = BitOrder::kBig);
// Unpacks the bits of bytes into bytes of 0 and 1; raises TypeError for other dtypes. `count` is
// the number of bits to return, padded with zeros if there are fewer. If negative, that many bits
// are dropped at the end.
FARCALL_API Array unpackbits(const Array& x, std::optional<int64_t> axis = {},
                             std::optional<int64_t> count = {}, BitOrder order = BitOrder::kBig);
FARCALL_API Array isposinf(const Array& x);
FARCALL_API Array isneginf(const Array& x);

// ---- comparison ----
FARCALL_API Array isreal(const Array& x);  // the imaginary part is zero
FARCALL_API Array iscomplex(const Array& x);
struct Closeness {
  Array rtol = 1e-5, atol = 1e-8;
  bool equal_nan = false;
};
// True where |a - b| <= atol + rtol |b|. allclose: true if this holds for all elements.
FARCALL_API Array isclose(const Array& a, const Array& b, const Closeness& within = {});
FARCALL_API Array allclose(const Array& a, const Array& b, const Closeness& within = {});
// True if shapes and elements are equal. array_equiv: if the elements are equal after broadcasting.
FARCALL_API Array array_equal(const Array& a, const Array& b, bool equal_nan = false);
FARCALL_API Array array_equiv(const Array& a, const Array& b);

// ---- selection ----
struct NanReplacements {
  Array nan = 0.0;
  // Default: the greatest and the least number of the dtype.
  std::optional<Array> posinf = {}, neginf = {};
};
FARCALL_API Array nan_to_num(const Array& x, const NanReplacements& by = {});
// Elements of the first choice whose condition is true; `otherwise` if none is.
FARCALL_API Array select(ListOf<Array> conditions, ListOf<Array> choices,
                         const Array& otherwise = 0);

}  // namespace farcall::numpy
