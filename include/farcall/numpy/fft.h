// Discrete Fourier transforms (namespace farcall::numpy::fft). Integers become floats. Operands of
// transforms that take complex numbers become complex with the same precision. float16 and bfloat16
// become float32.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/array.h>

namespace farcall::numpy::fft {

// Which transform is divided by the number of elements n: kBackward the inverse, kForward the
// forward one. kOrtho divides both by sqrt(n).
enum class Norm : uint8_t { kBackward, kOrtho, kForward };

// Transforms along one axis. The axis is first truncated or zero-padded to size `n`. Raise
// INVALID_ARGUMENT for an axis out of range and for n < 1.
using Size = std::optional<int64_t>;
FARCALL_API Array fft(const Array& a, Size n = {}, int64_t axis = -1, Norm norm = Norm::kBackward);
FARCALL_API Array ifft(const Array& a, Size n = {}, int64_t axis = -1, Norm norm = Norm::kBackward);
// The transform of real numbers: its first n / 2 + 1 elements, which determine the others.
FARCALL_API Array rfft(const Array& a, Size n = {}, int64_t axis = -1, Norm norm = Norm::kBackward);
// `n` is the size of the result; the default is even.
FARCALL_API Array irfft(const Array& a, Size n = {}, int64_t axis = -1,
                        Norm norm = Norm::kBackward);
// The transform of a signal with Hermitian symmetry, given by its first half, and its inverse.
FARCALL_API Array hfft(const Array& a, Size n = {}, int64_t axis = -1, Norm norm = Norm::kBackward);
FARCALL_API Array ihfft(const Array& a, Size n = {}, int64_t axis = -1,
                        Norm norm = Norm::kBackward);

// Transforms along several axes; rfft and irfft apply to the last one. Without `axes`, the last
// s.size() axes are used; without both, all.
using Sizes = std::optional<std::vector<int64_t>>;
FARCALL_API Array fftn(const Array& a, const Sizes& s = {}, const Axes& axes = {},
                       Norm norm = Norm::kBackward);
FARCALL_API Array ifftn(const Array& a, const Sizes& s = {}, const Axes& axes = {},
                        Norm norm = Norm::kBackward);
FARCALL_API Array rfftn(const Array& a, const Sizes& s = {}, const Axes& axes = {},
                        Norm norm = Norm::kBackward);
FARCALL_API Array irfftn(const Array& a, const Sizes& s = {}, const Axes& axes = {},
                         Norm norm = Norm::kBackward);
FARCALL_API Array fft2(const Array& a, const Sizes& s = {}, const Axes& axes = {-2, -1},
                       Norm norm = Norm::kBackward);
FARCALL_API Array ifft2(const Array& a, const Sizes& s = {}, const Axes& axes = {-2, -1},
                        Norm norm = Norm::kBackward);
FARCALL_API Array rfft2(const Array& a, const Sizes& s = {}, const Axes& axes = {-2, -1},
                        Norm norm = Norm::kBackward);
FARCALL_API Array irfft2(const Array& a, const Sizes& s = {}, const Axes& axes = {-2, -1},
                         Norm norm = Norm::kBackward);

// The frequencies of the elements of fft and rfft for n samples with spacing `d`.
FARCALL_API Array fftfreq(int64_t n, const Array& d = 1.0, std::optional<DType> dtype = {});
FARCALL_API Array rfftfreq(int64_t n, const Array& d = 1.0, std::optional<DType> dtype = {});

// Moves the element of frequency zero to the middle of each axis, and back.
FARCALL_API Array fftshift(const Array& x, const Axes& axes = {});
FARCALL_API Array ifftshift(const Array& x, const Axes& axes = {});

}  // namespace farcall::numpy::fft
