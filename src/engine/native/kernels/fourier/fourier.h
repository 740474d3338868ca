// The discrete Fourier transform of lines of any length, of several lines side by side.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/native/kernels/vector/fourier.h"
#include "engine/native/parallel.h"

namespace farcall::native {

// exp(-2 pi i j / n) for 0 <= j < n, accurate to about the last digit.
std::complex<double> root_of_unity(int64_t j, int64_t n);

// The largest number of rows of a matrix of `size` numbers that has at least as many columns.
int64_t rows_of_matrix(int64_t size);

// Whether a line of `size` numbers is transformed by its factors: all are small enough.
bool is_smooth(int64_t size);

// Factors, roots of unity and the like for one length, computed once. T is float or double.
// Thread-safe. Time grows as n log n for every n. The bits of one line do not depend on the other
// lines.
template <class T>
class FourierLine {
 public:
  explicit FourierLine(int64_t size);

  int64_t size() const { return size_; }
  // Scratch that forward() needs for each lane, in numbers of T.
  int64_t scratch_size() const;
  // y[k] = sum of x[j] exp(-2 pi i j k / n). Returns where y is: in the memory of x or in scratch.
  // Exchanging the real and imaginary parts of x and y gives the inverse, not divided by n.
  FourierParts<T> forward(FourierParts<T> x, int64_t lanes, T* scratch, Tiles& tiles) const;

  // Makes the tables of forward_alone(), if a dense line of this length takes less time alone than
  // side by side with others.
  void prepare_alone();
  // Whether the tables have been made.
  bool is_fast_alone() const { return columns_ != nullptr; }
  // Same as forward() for one line, as a matrix that stays in the first cache. The last bits of y
  // differ.
  FourierParts<T> forward_alone(FourierParts<T> x, T* scratch, Tiles& tiles) const;

 private:
  FourierParts<T> factored(FourierParts<T> x, FourierParts<T> other, int64_t lanes,
                           Tiles& tiles) const;
  void chirped(FourierParts<T> x, int64_t lanes, T* scratch, Tiles& tiles) const;

  int64_t size_;
  std::vector<int64_t> factors_;
  std::vector<T> root_re_, root_im_;             // exp(-2 pi i j / n)
  std::unique_ptr<FourierLine> columns_, rows_;  // of the matrix of a line alone
  std::vector<T> turn_re_, turn_im_;             // its factors between columns and rows
  // For lengths with large prime factors: the transform is a convolution with a chirp, computed by
  // transforms of a suitable length (Bluestein's algorithm).
  std::unique_ptr<FourierLine> convolution_;
  std::vector<T> chirp_re_, chirp_im_, chirp_transform_re_, chirp_transform_im_;
};

extern template class FourierLine<float>;
extern template class FourierLine<double>;

}  // namespace farcall::native
