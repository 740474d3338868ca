// The steps that a Fourier transform is made of, compiled for each instruction set, with the same
// bits for all of them.
#pragma once

#include <cstdint>

namespace farcall::native {

// Real and imaginary parts lie apart, and of each the numbers of all lines beside one another:
// number j of line w at j * lanes + w.
struct FourierParts {
  double *re, *im;
};

inline constexpr int64_t kLargestFourierFactor = 13;

// x has `count` times `radix` rows of `stride` numbers of each lane; the rows that lie `count`
// apart are transformed together, turned by roots of unity, and written next to one another.
struct FourierStep {
  FourierParts x, y;
  const double *root_re, *root_im;  // of the whole length
  int64_t radix, count, stride, lanes;
};
void run_fourier_step(const FourierStep& step);

}  // namespace farcall::native
