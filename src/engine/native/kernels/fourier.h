// The discrete Fourier transform of lines of any length, several of them side by side.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/native/kernels/vector_fourier.h"
#include "engine/native/parallel.h"

namespace farcall::native {

// exp(-2 pi i j / n) for 0 <= j < n, right to the last place or nearly so.
std::complex<double> root_of_unity(int64_t j, int64_t n);

// Factors, roots of unity and the like for one length, worked out once. Any number of threads may
// use one. Time grows as n log n for every n. A line's bits do not depend on the others.
class FourierLine {
 public:
  explicit FourierLine(int64_t size);

  int64_t size() const { return size_; }
  // Whether all prime factors are small.
  static bool is_smooth(int64_t size);
  // Doubles of scratch that forward() needs for each lane.
  int64_t scratch_size() const;
  // y[k] = sum of x[j] exp(-2 pi i j k / n), in the memory of x or in scratch: there it is given
  // back. With the parts exchanged, there and back, it is the inverse, not divided by n.
  FourierParts forward(FourierParts x, int64_t lanes, double* scratch, Tiles& tiles) const;

 private:
  FourierParts factored(FourierParts x, int64_t lanes, double* scratch, Tiles& tiles) const;
  void chirped(FourierParts x, int64_t lanes, double* scratch, Tiles& tiles) const;

  int64_t size_;
  std::vector<int64_t> factors_;
  std::vector<double> root_re_, root_im_;  // exp(-2 pi i j / n)
  // For lengths with large prime factors: the transform as a convolution with a chirp, done by
  // transforms of the next power of two (Bluestein's algorithm).
  std::unique_ptr<FourierLine> convolution_;
  std::vector<std::complex<double>> chirp_, chirp_transform_;
};

}  // namespace farcall::native
