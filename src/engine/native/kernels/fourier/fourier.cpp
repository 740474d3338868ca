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
constexpr int64_t kShortestAlone = 64, kLongestAlone = 4096, kFewestRows = 8;

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

// By the plain formula; std::complex would test each product for NaN.
Number product(Number a, Number b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
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

bool FourierLine::is_smooth(int64_t size) {
  return take_factors(size, [](int64_t) {}) == 1;
}

FourierLine::FourierLine(int64_t size) : size_(size) {
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
      root_re_[j] = root.real();
      root_im_[j] = root.imag();
    }
    return;
  }
  const auto power = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * size - 1)));
  convolution_ = std::make_unique<FourierLine>(power);
  chirp_.resize(size);
  // exp(-pi i j^2 / n), with j^2 reduced modulo 2 n.
  for (int64_t j = 0; j < size; ++j) {
    const auto square = static_cast<unsigned __int128>(j) * static_cast<uint64_t>(j);
    chirp_[j] =
        root_of_unity(static_cast<int64_t>(square % static_cast<uint64_t>(2 * size)), 2 * size);
  }
  std::vector<double> re(power), im(power), scratch(convolution_->scratch_size());
  for (int64_t j = 0; j < size; ++j) {
    for (const int64_t at : {j, (power - j) % power}) {
      re[at] = chirp_[j].real();
      im[at] = -chirp_[j].imag();
    }
  }
  run_tiles(1, 1, [&](Tiles& tiles) {
    const FourierParts y = convolution_->forward({re.data(), im.data()}, 1, scratch.data(), tiles);
    for (int64_t j = 0; j < power; ++j) {
      chirp_transform_.push_back(Number(y.re[j], y.im[j]) / static_cast<double>(power));
    }
  });
}

void FourierLine::prepare_alone() {
  if (convolution_ || size_ < kShortestAlone || size_ > kLongestAlone) return;
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

int64_t FourierLine::scratch_size() const {
  return convolution_ ? 2 * convolution_->size() + convolution_->scratch_size() : 2 * size_;
}

FourierParts FourierLine::forward(FourierParts x, int64_t lanes, double* scratch,
                                  Tiles& tiles) const {
  if (!convolution_) {
    return factored(x, {scratch, scratch + size_ * lanes}, lanes, tiles);
  }
  chirped(x, lanes, scratch, tiles);
  return x;
}

// Stockham's algorithm: the steps alternate between two arrays, and the results come out in order.
FourierParts FourierLine::factored(FourierParts x, FourierParts other, int64_t lanes,
                                   Tiles& tiles) const {
  FourierParts from = x, to = other;
  int64_t rest = size_, stride = 1;
  for (const int64_t radix : factors_) {
    if (!tiles.go_on(size_ * lanes * kStepCost)) break;
    rest /= radix;
    run_fourier_step({from, to, root_re_.data(), root_im_.data(), radix, rest, stride, lanes});
    stride *= radix;
    std::swap(from, to);
  }
  return from;
}

// The columns of the matrix are lines side by side. After the transpose its rows are.
FourierParts FourierLine::forward_alone(FourierParts x, double* scratch, Tiles& tiles) const {
  const int64_t rows = columns_->size(), columns = rows_->size();
  const FourierParts other = {scratch, scratch + size_};
  const FourierParts from = columns_->factored(x, other, columns, tiles);
  const FourierParts to = from.re == x.re ? other : x;
  turn_and_transpose({from, to, rows, columns, turn_re_.data(), turn_im_.data()});
  return rows_->factored(to, from, rows, tiles);
}

void FourierLine::chirped(FourierParts x, int64_t lanes, double* scratch, Tiles& tiles) const {
  const int64_t power = convolution_->size();
  const FourierParts padded = {scratch, scratch + power * lanes};
  double* const rest = scratch + 2 * power * lanes;
  const auto multiply = [lanes](FourierParts from, const std::vector<Number>& by, FourierParts to) {
    for (int64_t j = 0; j < std::ssize(by); ++j) {
      for (int64_t at = j * lanes; at < (j + 1) * lanes; ++at) {
        const Number y = product({from.re[at], from.im[at]}, by[j]);
        to.re[at] = y.real();
        to.im[at] = y.imag();
      }
    }
  };
  multiply(x, chirp_, padded);
  std::fill(padded.re + size_ * lanes, padded.re + power * lanes, 0.0);
  std::fill(padded.im + size_ * lanes, padded.im + power * lanes, 0.0);
  FourierParts y = convolution_->forward(padded, lanes, rest, tiles);
  multiply(y, chirp_transform_, padded);
  // Exchanging real and imaginary parts gives the inverse transform.
  y = convolution_->forward({padded.im, padded.re}, lanes, rest, tiles);
  multiply({y.im, y.re}, chirp_, x);
}

}  // namespace farcall::native
