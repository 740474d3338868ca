#include "engine/native/kernels/fourier.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include <farcall/core/error.h>

#include "engine/native/kernels/interruptible.h"

namespace farcall::native {
namespace {

constexpr int64_t kLargestFactor = 13;

// By the plain formula: std::complex tests each product for NaN.
Number product(Number a, Number b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
Number times_minus_i(Number a) { return {a.imag(), -a.real()}; }

// exp(-2 pi i j / n), of an angle within an eighth of the circle, where sine and cosine are best.
Number root(int64_t j, int64_t n) {
  const int64_t eighth = 8 * j / n;
  // The distance to the nearest multiple of a quarter.
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

// One step: x has `count` times `radix` rows of `stride` numbers; the rows that lie `count` apart
// are transformed together, turned by roots of unity, and written next to one another.
struct Step {
  const Number* x;
  Number* y;
  const Number* roots;  // of the whole length
  int64_t radix, count, stride;
};

// Calls butterfly(a, b, turns) for each group of `radix` numbers: it transforms a[k * count *
// stride] into b[j * stride], which it turns.
template <int64_t radix, class Butterfly>
void for_each_butterfly(const Step& step, Butterfly butterfly) {
  for (int64_t p = 0; p < step.count; ++p) {
    Number turns[radix];
    for (int64_t j = 0; j < radix; ++j) turns[j] = step.roots[p * j * step.stride];
    const Number* a = step.x + p * step.stride;
    Number* b = step.y + p * radix * step.stride;
    for (int64_t q = 0; q < step.stride; ++q) butterfly(a + q, b + q, turns);
  }
}

void step_2(const Step& step) {
  const int64_t apart = step.count * step.stride, stride = step.stride;
  for_each_butterfly<2>(step, [=](const Number* a, Number* b, const Number* turns) {
    const Number x = a[0], y = a[apart];
    b[0] = x + y;
    b[stride] = product(x - y, turns[1]);
  });
}

void step_3(const Step& step) {
  const int64_t apart = step.count * step.stride, stride = step.stride;
  const double sine = std::numbers::sqrt3 / 2;
  for_each_butterfly<3>(step, [=](const Number* a, Number* b, const Number* turns) {
    const Number x = a[0], sum = a[apart] + a[2 * apart];
    const Number middle = x - 0.5 * sum;
    const Number side = times_minus_i(sine * (a[apart] - a[2 * apart]));
    b[0] = x + sum;
    b[stride] = product(middle + side, turns[1]);
    b[2 * stride] = product(middle - side, turns[2]);
  });
}

void step_4(const Step& step) {
  const int64_t apart = step.count * step.stride, stride = step.stride;
  for_each_butterfly<4>(step, [=](const Number* a, Number* b, const Number* turns) {
    const Number even = a[0] + a[2 * apart], even_difference = a[0] - a[2 * apart];
    const Number odd = a[apart] + a[3 * apart];
    const Number odd_difference = times_minus_i(a[apart] - a[3 * apart]);
    b[0] = even + odd;
    b[stride] = product(even_difference + odd_difference, turns[1]);
    b[2 * stride] = product(even - odd, turns[2]);
    b[3 * stride] = product(even_difference - odd_difference, turns[3]);
  });
}

void step_any(const Step& step) {
  const int64_t apart = step.count * step.stride, size = step.radix * apart;
  for (int64_t p = 0; p < step.count; ++p) {
    for (int64_t j = 0; j < step.radix; ++j) {
      const Number turn = step.roots[p * j * step.stride];
      for (int64_t q = 0; q < step.stride; ++q) {
        const Number* a = step.x + p * step.stride + q;
        Number sum = a[0];
        for (int64_t k = 1; k < step.radix; ++k) {
          sum += product(a[k * apart], step.roots[j * k % step.radix * (size / step.radix)]);
        }
        step.y[(p * step.radix + j) * step.stride + q] = product(sum, turn);
      }
    }
  }
}

}  // namespace

FourierLine::FourierLine(int64_t size) : size_(size) {
  constexpr int64_t kMaxSize = int64_t{1} << 29;
  if (size > kMaxSize) {
    throw Error(ErrorCode::kResourceExhausted,
                fmt::format("a transform of {} elements is too long; at most {} are supported",
                            size, kMaxSize));
  }
  int64_t rest = size;
  for (int64_t factor : {4, 2, 3, 5, 7, 11, 13}) {
    for (; rest % factor == 0 && rest > 1; rest /= factor) factors_.push_back(factor);
  }
  if (rest > 1) {
    static_assert(kLargestFactor == 13);
    factors_.clear();
    const auto power = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * size - 1)));
    convolution_ = std::make_unique<FourierLine>(power);
    chirp_.resize(size);
    // exp(-pi i j^2 / n); j^2 counts modulo 2 n.
    for (int64_t j = 0; j < size; ++j) {
      const auto square = static_cast<unsigned __int128>(j) * static_cast<uint64_t>(j);
      chirp_[j] = root(static_cast<int64_t>(square % static_cast<uint64_t>(2 * size)), 2 * size);
    }
    chirp_transform_.resize(power);
    for (int64_t j = 0; j < size; ++j) {
      chirp_transform_[j] = std::conj(chirp_[j]);
      if (j > 0) chirp_transform_[power - j] = std::conj(chirp_[j]);
    }
    std::vector<Number> scratch(convolution_->scratch_size());
    convolution_->forward(chirp_transform_.data(), scratch.data());
    for (Number& value : chirp_transform_) value /= static_cast<double>(power);
    return;
  }
  roots_.resize(size);
  InterruptCounter counter;
  for (int64_t j = 0; j < size; ++j) {
    counter.add(1);
    roots_[j] = root(j, size);
  }
}

int64_t FourierLine::scratch_size() const {
  return convolution_ ? convolution_->size() + convolution_->scratch_size() : size_;
}

void FourierLine::forward(Number* x, Number* scratch) const {
  convolution_ ? chirped(x, scratch) : factored(x, scratch);
}

void FourierLine::backward(Number* x, Number* scratch) const {
  for (int64_t i = 0; i < size_; ++i) x[i] = std::conj(x[i]);
  forward(x, scratch);
  for (int64_t i = 0; i < size_; ++i) x[i] = std::conj(x[i]);
}

// Stockham's form: the steps go back and forth between two arrays, and the order comes out right.
void FourierLine::factored(Number* x, Number* scratch) const {
  Number *from = x, *to = scratch;
  int64_t rest = size_, stride = 1;
  for (const int64_t radix : factors_) {
    if (size_ >= kPolledElements) poll_interrupt();
    rest /= radix;
    const Step step = {from, to, roots_.data(), radix, rest, stride};
    (radix == 4 ? step_4 : radix == 2 ? step_2 : radix == 3 ? step_3 : step_any)(step);
    stride *= radix;
    std::swap(from, to);
  }
  if (from != x) std::copy_n(from, size_, x);
}

void FourierLine::chirped(Number* x, Number* scratch) const {
  Number* padded = scratch;
  Number* rest = scratch + convolution_->size();
  for (int64_t j = 0; j < size_; ++j) padded[j] = product(x[j], chirp_[j]);
  std::fill(padded + size_, rest, Number());
  convolution_->forward(padded, rest);
  for (int64_t j = 0; j < convolution_->size(); ++j) {
    padded[j] = product(padded[j], chirp_transform_[j]);
  }
  convolution_->backward(padded, rest);
  for (int64_t j = 0; j < size_; ++j) x[j] = product(padded[j], chirp_[j]);
}

}  // namespace farcall::native
