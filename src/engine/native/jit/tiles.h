// Translates several elementwise operations on tiles to one loop, which keeps intermediate values
// in registers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/native/jit/elementwise.h"
#include "engine/native/jit/ir.h"

namespace farcall::native::jit {

// A value of a run. float16 and bfloat16 are float32 in registers, complex64 two lanes of float32.
struct TileValue {
  enum class Source : uint8_t {
    kMade,      // by an operation of the run
    kLoaded,    // one element in memory for each element of the tile
    kOfRow,     // one for each row
    kOfColumn,  // one for each column
    kRepeated,  // a single element in memory
    kConstant,
  };
  Source source = Source::kMade;
  DType dtype = DType::kInvalid;
  uint64_t bits = 0;  // of a constant of `dtype`
  // If all numbers are numbers of float16 or of bfloat16: that dtype. The lower halves of NaNs of
  // float32 are then zero too.
  DType fits = DType::kInvalid;
  // The pointer to load the value from, or to store a value that the run makes.
  std::optional<uint32_t> pointer{};
  // Whether the next tile is next to this one in memory and is not in the cache.
  bool is_streamed = false;
};

struct TileOperation {
  enum class Kind : uint8_t {
    kElementwise,
    kConvert,  // from `from` to the dtype of the output
    kRound,    // float32 to the nearest value of `rounded`
  };
  Kind kind = Kind::kElementwise;
  Operation operation{};  // on float32 for float16, bfloat16 and complex64
  DType from = DType::kInvalid, rounded = DType::kInvalid;
  std::vector<uint32_t> inputs;
  uint32_t output = 0;
};

// For each row, the sum of the float32 elements of a value: kPartsOfSum parts of it, as float64,
// from which sum_of_parts (sum_floats.h) computes the whole.
struct TileSum {
  uint32_t value = 0;
  uint32_t pointer = 0;
};

struct TileRun {
  std::vector<TileValue> values;
  std::vector<TileOperation> operations;
  // The elements of a tile of several rows, which are read more than once, or of a tile that other
  // steps read and write between runs: the next tile is requested ahead.
  int64_t tile_size = 0;
  // Needs AVX-512, and rows of at least kSums elements.
  std::optional<TileSum> sum{};

  // Whether the code goes over the rows of a tile, and not over all its elements at once.
  bool goes_by_rows() const;
};

// The dtype that registers hold an element in, or a part of a complex number.
DType register_dtype(DType dtype);

// Whether there are instructions for an operation of the run, and for the whole run, whose pointers
// are set.
bool can_lower(const TileRun& run, const TileOperation& operation);
bool can_lower(const TileRun& run);

// Whether the sum of a run can be computed too, without memory for intermediate values.
bool can_sum(const TileRun& run);

// The count of the code is the number of elements, or that of the elements of a row if it goes by
// rows; its pointers are those of the values. A result may have the memory of an operand with
// elements of the same width, which are read first. can_lower must hold.
Code lower_tiles(const TileRun& run);

}  // namespace farcall::native::jit
