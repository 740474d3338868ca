// Loads tiles of a cluster other than whole operands: strided elements of an operand, operands side
// by side, operands with elements around them, and the numbers of an iota.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <farcall/core/shape_dtype.h>
#include <farcall/primitives/indexing.h>

#include "engine/native/kernels/elementwise/convert.h"
#include "engine/native/kernels/movement/moves.h"
#include "engine/native/kernels/movement/spaced.h"
#include "engine/native/kernels/movement/strided_copy.h"

namespace farcall::native {

// Elements of an operand in the row-major order of the result that they are moved to.
class StridedView {
 public:
  StridedView(ShapeDtype result, const ElementSource& source);

  // Whether the elements are contiguous.
  bool is_dense() const { return dimensions_.size() == 1 && dimensions_[0].stride == 1; }
  // Whether runs are long enough, and dense enough, to be loaded tile by tile, or the elements are
  // those of a transposed matrix with short enough rows.
  bool is_worth_loading() const;
  // Whether this is a transposed matrix, or several, whose tiles are worth transposing by
  // themselves: neighbours in the operand are a row apart.
  bool is_transposed() const;
  // The elements that a tile should be a multiple of: for transposed elements so many rows that
  // whole cache lines of the operand are read; otherwise 1.
  int64_t tile_unit() const {
    return is_transposed() ? dimensions_.back().size * transposed_tile(width_) : 1;
  }
  // The number of elements at a time that are contiguous.
  int64_t run_size() const { return dimensions_.back().stride == 1 ? dimensions_.back().size : 1; }
  // The place of an element in the operand, in elements from element 0.
  int64_t place_of(int64_t element) const;
  // The stride from one run of `size` contiguous elements to the next, if the view has only these.
  std::optional<int64_t> stride_of_runs(int64_t size) const;

  bool operator==(const StridedView&) const = default;

  // Writes elements [first, first + count) to `target`; `source` points at element 0.
  void load(const void* source, int64_t first, int64_t count, void* target) const;

 private:
  struct Dimension {
    int64_t size, stride;  // elements
    bool operator==(const Dimension&) const = default;
  };
  // Rows of one run each.
  template <class T>
  void load_rows(const T* source, const Dimension& rows, const Dimension& run, T* target) const;
  template <class T>
  void load_row(const T* source, const Dimension& run, T* target) const;
  void load_transposed(const void* source, int64_t first, int64_t count, void* target) const;

  std::vector<Dimension> dimensions_;  // at least one
  int64_t width_;
  TakeSpaced take_spaced_;
};

// Operands side by side along one dimension of the result.
class Joined {
 public:
  struct Operand {
    ShapeDtype type;
    int64_t run_stride;  // from one run to the next, in elements
  };
  Joined(ShapeDtype result, int64_t dimension, std::span<const Operand> operands);
  // The elements of an operand that are contiguous in the result.
  static int64_t run_size(ShapeDtype operand, int64_t dimension);

  // Whether runs are long enough to be loaded tile by tile.
  bool is_worth_loading() const;

  // Writes elements [first, first + count) to `target`; `sources` are the operands.
  void load(const std::byte* const* sources, int64_t first, int64_t count, void* target) const;

 private:
  struct Run {
    int64_t size, stride;  // elements
  };
  std::vector<Run> runs_;  // by operand
  int64_t all_ = 0;        // their sum
  int64_t width_;
};

// An operand with elements of one value around it, or less its outermost elements.
class Padded {
 public:
  // No value if there is padding between elements.
  static std::optional<Padded> of(ShapeDtype operand, ShapeDtype result,
                                  const PaddingConfig& config);

  // Whether runs are long enough to be loaded tile by tile.
  bool is_worth_loading() const;

  bool operator==(const Padded&) const = default;

  // Writes elements [first, first + count) to `target`.
  void load(const void* operand, const void* padding, int64_t first, int64_t count,
            void* target) const;

 private:
  // Of the result: elements begin to end - 1 are the operand's.
  struct Dimension {
    int64_t size, begin, end;
    int64_t stride;  // in the operand, in elements
    bool has(int64_t i) const { return i >= begin && i < end; }
    bool operator==(const Dimension&) const = default;
  };

  std::vector<Dimension> dimensions_;  // at least one
  int64_t first_ = 0;                  // where element 0 of the result would be in the operand
  int64_t width_ = 0;
};

// The numbers of an iota.
class Counting {
 public:
  using CountUp = void (*)(int32_t first, int64_t count, void* target);
  Counting(ShapeDtype result, int64_t dimension);
  void load(int64_t first, int64_t count, void* target) const;

 private:
  void load_numbers(int64_t first, int64_t count, std::byte* target) const;

  CountUp count_up_ = nullptr;  // faster than converting them; null if there is none
  Conversion convert_;
  int64_t size_ = 1, inner_ = 1;  // of the dimension; number of elements after it
};

}  // namespace farcall::native
