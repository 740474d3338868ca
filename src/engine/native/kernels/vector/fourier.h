// The steps of a Fourier transform, compiled for each instruction set, with the same bits for all.
#pragma once

#include <cstdint>

namespace farcall::native {

// Real and imaginary parts are separate arrays. Lines are interleaved: number j of line w is at
// index j * lanes + w.
struct FourierParts {
  double *re, *im;
};

inline constexpr int64_t kLargestFourierFactor = 13;

// x has `radix` times `count` rows of `stride` numbers of each lane. Rows that are `count` apart
// are transformed together, multiplied by roots of unity, and written next to each other.
struct FourierStep {
  FourierParts x, y;
  const double *root_re, *root_im;  // of the whole length
  int64_t radix, count, stride, lanes;
};
void run_fourier_step(const FourierStep& step);

}  // namespace farcall::native
