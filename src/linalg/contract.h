// A handler's requirements on its buffers, as a table that is checked before anything is read:
//
//   constexpr Wanted kWanted[] = {{"operand a", Of::kMatrix, "mn"},
//                                 {"result lu", Of::kMatrix, "mn", 0},
//                                 {"result pivots", Of::kInt32, "p"}};
//
// All buffers have the same leading (batch) dimensions, followed by one dimension per letter. A
// letter stands for the same size throughout a table; p is the minimum of m and n.
#pragma once

#include <farcall/ffi.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace farcall::linalg {

enum class Of : uint8_t {
  kMatrix,   // f32, f64, c64 or c128; the same throughout a table
  kReal,     // the real dtype of the matrices' parts
  kComplex,  // the complex dtype with such parts
  kInt32,
};

struct Wanted {
  std::string_view name;
  Of dtype;
  std::string_view sizes;
  int may_overwrite = -1;  // for a result: the index of a buffer whose memory it may share
};

// The sizes of the letters of a table.
class Sizes {
 public:
  // As int, the integer type of LAPACK.
  int operator[](char letter) const { return static_cast<int>(sizes_[place(letter)]); }

  ffi::DataType dtype = ffi::DataType::INVALID;  // of the matrices
  int64_t count = 1;  // of matrices in the batch; 0 if all results are empty

 private:
  friend class Contract;
  static size_t place(char letter) { return static_cast<size_t>(letter - 'a'); }

  static constexpr int64_t kUnknown = -1;
  std::array<int64_t, 26> sizes_ = [] {
    std::array<int64_t, 26> unknown{};
    unknown.fill(kUnknown);
    return unknown;
  }();
};

// Checks the buffers, operands first, against the rows of the table. Raises INVALID_ARGUMENT naming
// the buffer that does not fit, what was expected and what was passed.
ffi::ErrorOr<Sizes> check_buffers(std::span<const Wanted> table,
                                  std::span<const ffi::AnyBuffer> buffers);

template <class Buffer>
std::span<const int32_t> elements_of(const Buffer& buffer) {
  return {buffer.typed_data(), buffer.element_count()};
}

// Returns INVALID_ARGUMENT unless all numbers lie in [0, limit).
ffi::Error check_indices(std::string_view name, std::span<const int32_t> numbers, int64_t limit);

}  // namespace farcall::linalg
