// Pieces that the primitives of indexing share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <farcall/core/shape_dtype.h>
#include <farcall/trace/array.h>
#include <farcall/trace/rules.h>

namespace farcall::indexing {

inline std::vector<int64_t> to_vector(std::span<const int64_t> values) {
  return {values.begin(), values.end()};
}
inline bool contains(std::span<const int64_t> values, size_t value) {
  for (const int64_t each : values) {
    if (each == static_cast<int64_t>(value)) return true;
  }
  return false;
}
// 0, 1, …, count - 1 without those in `left_out`.
std::vector<int64_t> dims_except(size_t count, std::span<const int64_t> left_out);

// ---- batching ----

// The dimensions of an array that got a new one in front; `with_new` puts 0 before them.
std::vector<int64_t> shifted(std::span<const int64_t> dims, bool with_new = false);
// An operand with its batch dimension in front, repeated where it has none.
Array in_front(const BatchCall& call, size_t operand);
// The start indices from operand `first` on as one array whose last dimension they are, its batch
// dimension in front where one of them is batched.
Array stacked_starts(const BatchCall& call, size_t first);
bool any_batched(const BatchCall& call, size_t first);

// ---- derivatives ----

Array zeros_of(ShapeDtype type);
// Zero as the text of an element.
std::string zero_text(DType dtype);
// Zeros where the array is null.
Array or_zeros(const Array& tangent, const Array& primal);

// ---- type rules ----

void check_index_operand(ShapeDtype indices, std::string_view what);
// Raises unless one of `inputs` for each dimension of `operand` from `first` on is an integer
// scalar, all of one dtype.
void check_starts(std::span<const ShapeDtype> inputs, size_t first);

}  // namespace farcall::indexing
