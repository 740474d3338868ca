// Discrete Fourier transforms (namespace farcall::numpy::fft). Integers become floats, and what is
// transformed complex numbers of the same precision; float16 and bfloat16 become float32.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/array.h>

namespace farcall::numpy::fft {

// What is divided by the number of elements: the inverse, both by its root, the transform.
enum class Norm : uint8_t { kBackward, kOrtho, kForward };

// Along one axis. Of `n` elements: others are cut off, missing ones are zeros. Raise
// INVALID_ARGUMENT for an axis that there is not, and for n below 1.
using Size = std::optional<int64_t>;
FARCALL_API Array fft(const Array& a, Size n = {}, int64_t axis = -1, Norm norm = Norm::kBackward);
FARCALL_API Array ifft(const Array& a, Size n = {}, int64_t axis = -1, Norm norm = Norm::kBackward);
// Of real numbers: the first n / 2 + 1 elements, from which the others follow.
FARCALL_API Array rfft(const Array& a, Size n = {}, int64_t axis = -1, Norm norm = Norm::kBackward);
// `n` is the size of the result, an even number if left out.
FARCALL_API Array irfft(const Array& a, Size n = {}, int64_t axis = -1,
                        Norm norm = Norm::kBackward);
// Of elements whose second half is the conjugate of the first, which is given; and its inverse.
FARCALL_API Array hfft(const Array& a, Size n = {}, int64_t axis = -1, Norm norm = Norm::kBackward);
FARCALL_API Array ihfft(const Array& a, Size n = {}, int64_t axis = -1,
                        Norm norm = Norm::kBackward);

// Along several axes, the last of which is that of rfft and irfft: without `axes` the last ones
// for which there are sizes, without either all.
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

// The frequencies of the elements that fft and rfft give for n samples which lie `d` apart.
FARCALL_API Array fftfreq(int64_t n, const Array& d = 1.0, std::optional<DType> dtype = {});
FARCALL_API Array rfftfreq(int64_t n, const Array& d = 1.0, std::optional<DType> dtype = {});

// The element of frequency zero moved to the middle of each axis, and back.
FARCALL_API Array fftshift(const Array& x, const Axes& axes = {});
FARCALL_API Array ifftshift(const Array& x, const Axes& axes = {});

}  // namespace farcall::numpy::fft
