#include "engine/native/kernels/fourier/fourier.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>

#include "engine/native/kernels/interruptible.h"
#include "engine/native/kernels/vector/fourier.h"

namespace farcall::native {
namespace {

using Number = std::complex<double>;

constexpr int64_t kFactors[] = {8, 4, 2, 3, 5, 7, 11, kLargestFourierFactor};
// Steps of radix 8 read from eight places, which in longer lines are in the same sets of the cache.
constexpr int64_t kLongestOfEights = 512;
// A line is a matrix, and fast alone, if its length is between these and the matrix has at least so
// many rows.
template <class T>
constexpr int64_t kShortestAlone = sizeof(T) == 4 ? 512 : 128;
constexpr int64_t kLongestAlone = 4096, kFewestRows = 8;

// Calls visit for each factor of `size` in kFactors; returns the remaining cofactor.
template <class Visit>
int64_t take_factors(int64_t size, Visit visit) {
  const bool has_eights = size <= kLongestOfEights;
  // Two factors of 4 take less time than 8 and 2.
  if (size % 16 == 0 && std::countr_zero(static_cast<uint64_t>(size)) % 3 == 1) {
    visit(4);
    visit(4);
    size /= 16;
  }
  for (const int64_t factor : kFactors) {
    if (factor == 8 && !has_eights) continue;
    for (; size % factor == 0 && size > 1; size /= factor) visit(factor);
  }
  return size;
}

// The shortest of some lengths that are transformed fast, at least `size`.
int64_t convolution_length(int64_t size) {
  const auto power = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(size)));
  int64_t best = power;
  for (const int64_t sixteenths : {9, 10, 12, 15}) {
    const int64_t length = power / 16 * sixteenths;
    if (length >= size) best = std::min(best, length);
  }
  return best;
}

}  // namespace

int64_t rows_of_matrix(int64_t size) {
  int64_t rows = 1;
  for (int64_t i = 2; i * i <= size; ++i) {
    if (size % i == 0) rows = i;
  }
  return rows;
}

// Reduces the angle to an eighth of the circle, where sine and cosine are most accurate.
Number root_of_unity(int64_t j, int64_t n) {
  const int64_t eighth = 8 * j / n;
  // The distance to the nearest multiple of a quarter of the circle.
  const int64_t quarter = (eighth + 1) / 2;
  const double angle = 2 * std::numbers::pi * static_cast<double>(4 * j - quarter * n) /
                       (4 * static_cast<double>(n));
  const double cosine = std::cos(angle), sine = std::sin(angle);
  switch (quarter % 4) {
    case 0:
      return {cosine, -sine};
    case 1:
      return {-sine, -cosine};
    case 2:
      return {-cosine, sine};
    default:
      return {sine, cosine};
  }
}

bool is_smooth(int64_t size) {
  return take_factors(size, [](int64_t) {}) == 1;
}

template <class T>
FourierLine<T>::FourierLine(int64_t size) : size_(size) {
  constexpr int64_t kMaxSize = int64_t{1} << 29;
  if (size > kMaxSize) {
    throw Error(ErrorCode::kResourceExhausted,
                fmt::format("a transform of {} elements is too long; at most {} are supported",
                            size, kMaxSize));
  }
  if (is_smooth(size)) {
    take_factors(size, [this](int64_t factor) { factors_.push_back(factor); });
    root_re_.resize(size);
    root_im_.resize(size);
    InterruptCounter counter;
    for (int64_t j = 0; j < size; ++j) {
      counter.add(1);
      const Number root = root_of_unity(j, size);
      root_re_[j] = static_cast<T>(root.real());
      root_im_[j] = static_cast<T>(root.imag());
    }
    return;
  }
  const int64_t length = convolution_length(2 * size - 1);
  convolution_ = std::make_unique<FourierLine>(length);
  std::vector<T> re(length), im(length), scratch(convolution_->scratch_size());
  // exp(-pi i j^2 / n), with j^2 reduced modulo 2 n.
  for (int64_t j = 0; j < size; ++j) {
    const auto square = static_cast<unsigned __int128>(j) * static_cast<uint64_t>(j);
    const auto turn = static_cast<int64_t>(square % static_cast<uint64_t>(2 * size));
    const Number root = root_of_unity(turn, 2 * size);
    chirp_re_.push_back(static_cast<T>(root.real()));
    chirp_im_.push_back(static_cast<T>(root.imag()));
    for (const int64_t at : {j, (length - j) % length}) {
      re[at] = chirp_re_.back();
      im[at] = -chirp_im_.back();
    }
  }
  run_tiles(1, 1, [&](Tiles& tiles) {
    const FourierParts<T> y =
        convolution_->forward({re.data(), im.data()}, 1, scratch.data(), tiles);
    for (int64_t j = 0; j < length; ++j) {
      chirp_transform_re_.push_back(y.re[j] / static_cast<T>(length));
      chirp_transform_im_.push_back(y.im[j] / static_cast<T>(length));
    }
  });
}

template <class T>
void FourierLine<T>::prepare_alone() {
  if (convolution_ || size_ < kShortestAlone<T> || size_ > kLongestAlone) return;
  const int64_t rows = rows_of_matrix(size_), columns = size_ / rows;
  if (rows < kFewestRows) return;
  columns_ = std::make_unique<FourierLine>(rows);
  rows_ = std::make_unique<FourierLine>(columns);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      turn_re_.push_back(root_re_[row * column]);
      turn_im_.push_back(root_im_[row * column]);
    }
  }
}

template <class T>
int64_t FourierLine<T>::scratch_size() const {
  return convolution_ ? 2 * convolution_->size() + convolution_->scratch_size() : 2 * size_;
}

template <class T>
FourierParts<T> FourierLine<T>::forward(FourierParts<T> x, int64_t lanes, T* scratch,
                                        Tiles& tiles) const {
  if (!convolution_) {
    return factored(x, {scratch, scratch + size_ * lanes}, lanes, tiles);
  }
  chirped(x, lanes, scratch, tiles);
  return x;
}

// Stockham's algorithm: the steps alternate between two arrays, and the results come out in order.
template <class T>
FourierParts<T> FourierLine<T>::factored(FourierParts<T> x, FourierParts<T> other, int64_t lanes,
                                         Tiles& tiles) const {
  FourierParts<T> from = x, to = other;
  int64_t rest = size_, stride = 1;
  for (const int64_t radix : factors_) {
    if (!tiles.go_on(size_ * lanes * kStepCost)) break;
    rest /= radix;
    run_fourier_step<T>({from, to, root_re_.data(), root_im_.data(), radix, rest, stride, lanes});
    stride *= radix;
    std::swap(from, to);
  }
  return from;
}

// The columns of the matrix are lines side by side. After the transpose its rows are.
template <class T>
FourierParts<T> FourierLine<T>::forward_alone(FourierParts<T> x, T* scratch, Tiles& tiles) const {
  const int64_t rows = columns_->size(), columns = rows_->size();
  const FourierParts<T> other = {scratch, scratch + size_};
  const FourierParts<T> from = columns_->factored(x, other, columns, tiles);
  const FourierParts<T> to = from.re == x.re ? other : x;
  turn_and_transpose<T>({from, to, rows, columns, turn_re_.data(), turn_im_.data()});
  return rows_->factored(to, from, rows, tiles);
}

template <class T>
void FourierLine<T>::chirped(FourierParts<T> x, int64_t lanes, T* scratch, Tiles& tiles) const {
  const int64_t length = convolution_->size();
  const FourierParts<T> padded = {scratch, scratch + length * lanes};
  T* const rest = scratch + 2 * length * lanes;
  const auto multiply = [lanes](FourierParts<T> from, FourierParts<T> to, const std::vector<T>& re,
                                const std::vector<T>& im) {
    const auto count = std::ssize(re);
    // One line is one row, each number of which has its factor.
    const bool is_one_line = lanes == 1;
    multiply_numbers<T>({from, to, is_one_line ? 1 : count, is_one_line ? count : lanes, lanes,
                         re.data(), im.data(), 1, !is_one_line});
  };
  multiply(x, padded, chirp_re_, chirp_im_);
  std::fill(padded.re + size_ * lanes, padded.re + length * lanes, T(0));
  std::fill(padded.im + size_ * lanes, padded.im + length * lanes, T(0));
  FourierParts<T> y = convolution_->forward(padded, lanes, rest, tiles);
  multiply(y, padded, chirp_transform_re_, chirp_transform_im_);
  // Exchanging real and imaginary parts gives the inverse transform.
  y = convolution_->forward({padded.im, padded.re}, lanes, rest, tiles);
  multiply({y.im, y.re}, x, chirp_re_, chirp_im_);
}

template class FourierLine<float>;
template class FourierLine<double>;

}  // namespace farcall::native
