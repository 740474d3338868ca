// The discrete Fourier transform of one line of any length.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

namespace farcall::native {

using Number = std::complex<double>;

// Factors, roots of unity and the like for one length, worked out once. Any number of threads may
// use one. Time grows as n log n for every n.
class FourierLine {
 public:
  explicit FourierLine(int64_t size);

  int64_t size() const { return size_; }
  // Numbers of scratch that forward() needs.
  int64_t scratch_size() const;
  // In place; y[k] = sum of x[j] exp(-2 pi i j k / n).
  void forward(Number* x, Number* scratch) const;
  // Not divided by n.
  void backward(Number* x, Number* scratch) const;

 private:
  void factored(Number* x, Number* scratch) const;
  void chirped(Number* x, Number* scratch) const;

  int64_t size_;
  std::vector<int64_t> factors_;
  std::vector<Number> roots_;  // exp(-2 pi i j / n)
  // For lengths with large prime factors: the transform as a convolution with a chirp, done by
  // transforms of the next power of two (Bluestein's algorithm).
  std::unique_ptr<FourierLine> convolution_;
  std::vector<Number> chirp_, chirp_transform_;
};

}  // namespace farcall::native
