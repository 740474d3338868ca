// Elementwise functions made of those in ops/numpy.h (namespace farcall::numpy), which see for what
// all share. Functions of floats promote integers to them.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/array.h>

namespace farcall::numpy {

// ---- rounding ----
// To so many decimals, halves to even; integers stay as they are. Raises UNIMPLEMENTED for integers
// and decimals below 0, INVALID_ARGUMENT where 10^decimals leaves the range of the dtype.
FARCALL_API Array round(const Array& x, int64_t decimals = 0);
FARCALL_API Array trunc(const Array& x);  // the whole part, toward zero
FARCALL_API Array fix(const Array& x);    // the same, as a float
// The fractional and the whole part, both with the sign of x.
struct Parts {
  Array fraction, whole;
};
FARCALL_API Parts modf(const Array& x);

// ---- arithmetic ----
// The remainder with the sign of the dividend; integers divided by zero leave zero.
FARCALL_API Array fmod(const Array& x, const Array& y);
FARCALL_API Array reciprocal(const Array& x);
FARCALL_API Array float_power(const Array& x, const Array& y);
FARCALL_API Array fabs(const Array& x);
// The larger or smaller one; the other where one is NaN.
FARCALL_API Array fmax(const Array& x, const Array& y);
FARCALL_API Array fmin(const Array& x, const Array& y);
// 0 below zero, 1 above, `at_zero` at zero.
FARCALL_API Array heaviside(const Array& x, const Array& at_zero);
FARCALL_API Array ldexp(const Array& x, const Array& exponent);  // x 2^exponent
FARCALL_API Array degrees(const Array& x);
FARCALL_API Array radians(const Array& x);
// The angle of complex numbers in their plane.
FARCALL_API Array angle(const Array& z, bool in_degrees = false);

// ---- signs and bits; INVALID_ARGUMENT for complex numbers ----
// Whether the sign bit is set: below zero, -0.0, and NaNs that have it.
FARCALL_API Array signbit(const Array& x);
FARCALL_API Array copysign(const Array& x, const Array& sign);
FARCALL_API Array nextafter(const Array& x, const Array& toward);
// The distance to the next number of the dtype, away from zero.
FARCALL_API Array spacing(const Array& x);
// The ones in the binary form of the absolute value, uint8.
FARCALL_API Array bitwise_count(const Array& x);
// Eight elements in each byte along an axis, or of the flattened array: whether they are other than
// zero, the first one as the highest bit or as the lowest. TypeError but for integers and bools.
enum class BitOrder { kBig, kLittle };
FARCALL_API Array packbits(const Array& x, std::optional<int64_t> axis = {},
                           BitOrder order = BitOrder::kBig);
// The bits of bytes (TypeError for other dtypes) as bytes of 0 and 1; so many of them, zeros where
// there are fewer, or so many less where `count` is negative.
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
// Whether elements agree within atol + rtol |b|; allclose: all of them.
FARCALL_API Array isclose(const Array& a, const Array& b, const Closeness& within = {});
FARCALL_API Array allclose(const Array& a, const Array& b, const Closeness& within = {});
// Whether shapes and elements are equal; array_equiv: elements, once both are broadcast.
FARCALL_API Array array_equal(const Array& a, const Array& b, bool equal_nan = false);
FARCALL_API Array array_equiv(const Array& a, const Array& b);

// ---- choosing ----
struct NanReplacements {
  Array nan = 0.0;
  // The greatest and the least number of the dtype if left out.
  std::optional<Array> posinf = {}, neginf = {};
};
FARCALL_API Array nan_to_num(const Array& x, const NanReplacements& by = {});
// From the first choice whose condition holds, else `otherwise`.
FARCALL_API Array select(ListOf<Array> conditions, ListOf<Array> choices,
                         const Array& otherwise = 0);

}  // namespace farcall::numpy
