// The steps of a Fourier transform, compiled for each instruction set, with the same bits for all.
// T is float or double.
#pragma once

#include <complex>
#include <cstdint>

namespace farcall::native {

// Real and imaginary parts are separate arrays. Lines are interleaved: number j of line w is at
// index j * lanes + w.
template <class T>
struct FourierParts {
  T *re, *im;
};

inline constexpr int64_t kLargestFourierFactor = 13;

// x has `radix` times `count` rows of `stride` numbers of each lane. Rows that are `count` apart
// are transformed together, multiplied by roots of unity, and written next to each other in y,
// which is other memory.
template <class T>
struct FourierStep {
  FourierParts<T> x, y;
  const T *root_re, *root_im;  // of the whole length
  int64_t radix;               // 2, 4, 8, or an odd prime up to kLargestFourierFactor
  int64_t count, stride, lanes;
};
template <class T>
void run_fourier_step(const FourierStep<T>& step);

// Multiplies `count` rows of `lanes` numbers, which begin `apart` numbers after each other; y may
// be x. Row j is multiplied by the `lanes` numbers from j * factors_apart on, or all of it by the
// first of them.
template <class T>
struct FourierFactors {
  FourierParts<T> x, y;
  int64_t count, lanes, apart;
  const T *re, *im;
  int64_t factors_apart;
  bool is_one_per_row;
};
template <class T>
void multiply_numbers(const FourierFactors<T>& factors);

// Writes the transpose of a dense matrix of numbers, each multiplied by its factor.
template <class T>
struct FourierMatrix {
  FourierParts<T> x, y;
  int64_t rows, columns;
  const T *re, *im;  // factors, in the order of x
};
template <class T>
void turn_and_transpose(const FourierMatrix<T>& matrix);

// With E[k] = (x[k] + conj x[k']) / 2, D[k] = (x[k] - conj x[k']) / 2, k' = size - k and
// f[k] = im[k] + direction i re[k]: y[k] = E[k] + f[k] D[k] and y[k'] = conj(E[k] - f[k] D[k]) for
// 0 < k <= size / 2. x and y are different memory.
template <class T>
struct FourierHalves {
  FourierParts<T> x, y;
  int64_t size, lanes;
  const T *re, *im;
  T direction;  // 1 or -1
};
template <class T>
void combine_halves(const FourierHalves<T>& halves);

// Numbers in memory: row j begins j * apart elements after the first one, and has one number of
// each lane. If is_past_caches, rows consist of whole cache lines, and are written past the caches.
template <class Number>
struct FourierRows {
  Number* first;
  int64_t count, lanes, apart;
  bool is_past_caches = false;
};
// The first `size` numbers of each lane are dense.
template <class Number>
struct FourierLines {
  Number* const* first;  // by lane
  int64_t size, lanes;
};

// Copies numbers, which are T or std::complex<T>, to the index j * lanes + w of `to`. The imaginary
// part of real numbers is 0.
template <class T, class Number>
void load_numbers(const FourierRows<const Number>& from, FourierParts<T> to);
template <class T, class Number>
void load_numbers(const FourierLines<const Number>& from, FourierParts<T> to);
// The opposite: copies numbers times `scale`, of which real ones lose their imaginary part.
template <class T, class Number>
void store_numbers(FourierParts<T> from, T scale, const FourierRows<Number>& to);
template <class T, class Number>
void store_numbers(FourierParts<T> from, T scale, const FourierLines<Number>& to);

}  // namespace farcall::native
