// Fourier transforms (namespace farcall::lax).
#pragma once

#include <cstdint>
#include <string>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/array.h>

namespace farcall::lax {

// See FftParams. Real floats are converted where the transform takes complex numbers. Raises
// INVALID_ARGUMENT if the operand does not fit.
FARCALL_API Array fft(const Array& x, const std::string& fft_type, ListOf<int64_t> fft_lengths);

}  // namespace farcall::lax
