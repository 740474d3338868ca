// Takes single elements of an array at computed indices: a gather whose windows are on a line.
#pragma once

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
  // No value for other windows, for indices other than int32 and int64, and for elements other than
  // of 4 and 8 bytes.
  static std::optional<Take> of(const GatherParams& params, ShapeDtype operand, ShapeDtype indices,
                                ShapeDtype result);

  // Writes `count` elements to `output`. Elements out of bounds are clipped or filled.
  void run(const void* indices, const void* operand, int64_t count, void* output) const {
    loop_(indices, operand, output, count, line_, clips_, fill_.data());
  }

 private:
  using Loop = void (*)(const void* indices, const void* operand, void* output, int64_t count,
                        Windows::Line line, bool clips, const void* fill);
  static Loop find_loop(DType indices, size_t width);

  Take(Loop loop, Windows::Line line, bool clips, FillValue fill)
      : loop_(loop), line_(line), clips_(clips), fill_(fill) {}

  Loop loop_;
  Windows::Line line_;
  bool clips_;
  FillValue fill_;
};

}  // namespace farcall::native
