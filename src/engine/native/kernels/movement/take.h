// Takes elements, or short dense windows, of an array at computed indices: a gather whose windows
// are on lines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <farcall/core/shape_dtype.h>
#include <farcall/primitives/indexing.h>

#include "engine/native/kernels/movement/fill_value.h"
#include "engine/native/kernels/reductions/windows.h"

namespace farcall::native {

// The windows of a gather. Those out of bounds are clipped, unless they are to be filled.
Windows windows_of_gather(const GatherParams& params, ShapeDtype operand, ShapeDtype indices,
                          ShapeDtype result);

class Take {
 public:
  // No value for windows that are not on lines, for indices other than int32 and int64, and for
  // windows that do not have 4, 8, 16, 32 or 64 bytes or are not a multiple of their size apart.
  static std::optional<Take> of(const Windows& windows, const GatherParams& params, DType dtype,
                                DType index);

  // Writes `count` windows of one line to `output`. Those out of bounds are clipped or filled.
  // `operand` is where the line starts, plus the first window's distance from there.
  void run(const void* indices, const void* operand, int64_t count, void* output) const {
    loop_(indices, operand, output, count, lines_, clips_, fill_.data());
  }

 private:
  using Loop = void (*)(const void* indices, const void* operand, void* output, int64_t count,
                        const Windows::Lines& lines, bool clips, const void* fill);
  static Loop find_loop(DType indices, size_t width);

  Take() = default;

  Loop loop_ = nullptr;
  Windows::Lines lines_{};  // in windows
  bool clips_ = false;
  alignas(16) std::array<std::byte, 64> fill_{};  // a window
};

}  // namespace farcall::native
