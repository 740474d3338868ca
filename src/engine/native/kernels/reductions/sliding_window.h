// The elements that windows cover along one dimension. Nothing is stored for each position.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace farcall::native {

struct WindowSteps {
  int64_t stride = 1, window_dilation = 1, base_dilation = 1, padding_before = 0;
};

// Those of a range of numbers that cover an element, and not padding or a gap between elements:
// first, first + step, ...; `count` numbers. Their elements are offset, offset + offset_step, ...
struct Covered {
  int64_t first, step, count, offset, offset_step;
};

struct WindowDimension {
  WindowSteps steps;
  int64_t size = 0;            // elements along the dimension,
  int64_t element_stride = 1;  // which are this far apart
  int64_t num_positions = 0, window = 0;

  // The places of the window at a position.
  Covered places(int64_t position) const {
    return covered(position * steps.stride - steps.padding_before, steps.window_dilation, window);
  }
  // The positions from `first` to `first + count`, for a place of the window. Their numbers begin
  // with zero.
  Covered positions(int64_t place, int64_t first, int64_t count) const {
    return covered(first * steps.stride + place * steps.window_dilation - steps.padding_before,
                   steps.stride, count);
  }

 private:
  // Number i is at start + i * step of the dilated dimension.
  Covered covered(int64_t start, int64_t step, int64_t count) const {
    constexpr Covered kNone = {0, 1, 0, 0, 0};
    const int64_t dilation = steps.base_dilation;
    const int64_t extent = size == 0 ? 0 : (size - 1) * dilation + 1;
    if (start >= extent) return kNone;
    int64_t low = start >= 0 ? 0 : (-start - 1) / step + 1;
    const int64_t high =
        start + (count - 1) * step < extent ? count : (extent - 1 - start) / step + 1;
    int64_t period = 1;
    if (dilation > 1) {
      period = dilation / std::gcd(step, dilation);
      const int64_t last = std::min(high, low + period);
      while (low < last && (start + low * step) % dilation != 0) ++low;
      if (low == last) return kNone;
    }
    if (low >= high) return kNone;
    const int64_t found = (high - low - 1) / period + 1;
    return {.first = low,
            .step = period,
            .count = found,
            .offset = (start + low * step) / dilation * element_stride,
            .offset_step = found == 1 ? 0 : step * period / dilation * element_stride};
  }
};

}  // namespace farcall::native
