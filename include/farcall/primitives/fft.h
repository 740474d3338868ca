// Parameters of fft.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <farcall/program/params.h>

namespace farcall {

// fft: the discrete Fourier transform over the last fft_lengths.size() dimensions. fft_type is FFT,
// IFFT (inverse, divided by the number of elements), RFFT (of real numbers; the last dimension of
// the result has only the first n / 2 + 1 elements, which determine the others) or IRFFT (its
// inverse). fft_lengths are the sizes of these dimensions; for RFFT and IRFFT, those of the real
// array.
struct FftParams {
  std::vector<int64_t> fft_lengths;
  std::string fft_type;
  static constexpr auto fields() {
    return std::tuple(field("fft_lengths", &FftParams::fft_lengths),
                      field("fft_type", &FftParams::fft_type));
  }
};

}  // namespace farcall
