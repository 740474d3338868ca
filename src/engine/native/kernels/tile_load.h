// What tiles of a cluster are loaded with besides whole operands: elements of an operand that lie
// some strides apart, and numbers that are counted.
#pragma once

#include <cstdint>
#include <vector>

#include <farcall/core/shape_dtype.h>

#include "engine/native/kernels/convert.h"
#include "engine/native/kernels/moves.h"

namespace farcall::native {

// Elements of an array, in the row-major order of a result that they are moved to.
class StridedView {
 public:
  StridedView(ShapeDtype result, const ElementSource& source);

  // They follow one another in memory.
  bool is_dense() const { return dimensions_.size() == 1 && dimensions_[0].stride == 1; }
  // Runs are long enough, and dense enough, to be loaded a tile at a time.
  bool is_worth_loading() const;

  // Writes elements [first, first + count) to `target`; `source` is where the first one of all is.
  void load(const void* source, int64_t first, int64_t count, void* target) const;

 private:
  struct Dimension {
    int64_t size, stride;  // elements
  };
  std::vector<Dimension> dimensions_;  // at least one
  int64_t width_;
};

// The numbers of an iota.
class Counting {
 public:
  Counting(ShapeDtype result, int64_t dimension);
  void load(int64_t first, int64_t count, void* target) const;

 private:
  Conversion convert_;
  int64_t size_ = 1, inner_ = 1;  // of the dimension, and the elements after it
};

}  // namespace farcall::native
