// What a handler wants of its buffers, as a table that is checked before anything is read:
//
//   constexpr Wanted kWanted[] = {{"operand a", Of::kMatrix, "mn"},
//                                 {"result lu", Of::kMatrix, "mn", 0},
//                                 {"result pivots", Of::kInt32, "p"}};
//
// All buffers have the same leading dimensions, those of the batch, and then one dimension for each
// letter. A letter stands for one size throughout a table; p is the lesser one of m and n.
#pragma once

#include <farcall/ffi.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace farcall::linalg {

enum class Of : uint8_t {
  kMatrix,   // f32, f64, c64 or c128, the same one throughout a table
  kReal,     // the dtype of that one's real part
  kComplex,  // the dtype of complex numbers with such parts
  kInt32,
};

struct Wanted {
  std::string_view name;
  Of dtype;
  std::string_view sizes;
  int may_overwrite = -1;  // a result: the buffer whose memory it may have; none
};

// The sizes that a table names.
class Sizes {
 public:
  // 32 bits, as LAPACK counts.
  int operator[](char letter) const { return static_cast<int>(sizes_[place(letter)]); }

  ffi::DataType dtype = ffi::DataType::INVALID;  // of the matrices
  int64_t count = 1;                             // of the batch; 0 where all results are empty

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

// Checks the buffers, operands first, against as many rows of the table. Raises INVALID_ARGUMENT
// with the name of the one that does not fit, what was wanted and what came.
ffi::ErrorOr<Sizes> check_buffers(std::span<const Wanted> table,
                                  std::span<const ffi::AnyBuffer> buffers);

template <class Buffer>
std::span<const int32_t> elements_of(const Buffer& buffer) {
  return {buffer.typed_data(), buffer.element_count()};
}

// INVALID_ARGUMENT unless each of the numbers lies in [0, limit).
ffi::Error check_indices(std::string_view name, std::span<const int32_t> numbers, int64_t limit);

}  // namespace farcall::linalg
