// The steps of a Fourier transform, compiled for each instruction set, with the same bits for all.
#pragma once

#include <complex>
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

// Multiplies `count` rows of `lanes` numbers, which begin `apart` numbers after each other, by
// numbers whose rows begin `turns_apart` after each other.
struct FourierTurns {
  FourierParts x;
  int64_t count, lanes, apart;
  const double *re, *im;
  int64_t turns_apart;
};
void turn_numbers(const FourierTurns& turns);

// Writes the transpose of a dense matrix of numbers, each multiplied by its factor.
struct FourierMatrix {
  FourierParts x, y;
  int64_t rows, columns;
  const double *re, *im;  // factors, in the order of x
};
void turn_and_transpose(const FourierMatrix& matrix);

// Numbers in memory: row j begins j * apart elements after the first one, and has one number of
// each lane.
template <class T>
struct FourierRows {
  T* first;
  int64_t count, lanes, apart;
};

// Copies real or complex numbers to the index j * lanes + w of `to`. The imaginary part of real
// numbers is 0.
void load_numbers(const FourierRows<const float>& from, FourierParts to);
void load_numbers(const FourierRows<const double>& from, FourierParts to);
void load_numbers(const FourierRows<const std::complex<float>>& from, FourierParts to);
void load_numbers(const FourierRows<const std::complex<double>>& from, FourierParts to);
// The opposite: copies numbers times `scale`, of which real ones lose their imaginary part.
void store_numbers(FourierParts from, double scale, const FourierRows<float>& to);
void store_numbers(FourierParts from, double scale, const FourierRows<double>& to);
void store_numbers(FourierParts from, double scale, const FourierRows<std::complex<float>>& to);
void store_numbers(FourierParts from, double scale, const FourierRows<std::complex<double>>& to);

}  // namespace farcall::native
