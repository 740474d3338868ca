// Window functions of signal processing (namespace farcall::numpy): vectors of `size` floats, empty
// if `size` is negative.
#pragma once

#include <cstdint>

#include <farcall/core/export.h>
#include <farcall/trace/array.h>

namespace farcall::numpy {

FARCALL_API Array bartlett(int64_t size);  // a triangle that ends in zeros
FARCALL_API Array blackman(int64_t size);  // a constant plus two cosines
FARCALL_API Array hamming(int64_t size);   // a raised cosine that does not end in zeros
FARCALL_API Array hanning(int64_t size);   // a raised cosine that ends in zeros
// A larger `beta` gives a narrower window.
FARCALL_API Array kaiser(int64_t size, const Array& beta);

}  // namespace farcall::numpy
