// Shared by the primitives of indexing.
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

// Dimension numbers after a new leading dimension is added. `with_new`: prepends 0, the new one.
std::vector<int64_t> shifted(std::span<const int64_t> dims, bool with_new = false);
// An operand with batch dimension 0; broadcast if it is not batched.
Array in_front(const BatchCall& call, size_t operand);
// Stacks the start indices (operands from `first` on) along a new last dimension. If one of them is
// batched, the result has batch dimension 0.
Array stacked_starts(const BatchCall& call, size_t first);
bool any_batched(const BatchCall& call, size_t first);

// ---- derivatives ----

Array zeros_of(ShapeDtype type);
// Zero as the text of an element.
std::string zero_text(DType dtype);
// The tangent, or zeros if it is null.
Array or_zeros(const Array& tangent, const Array& primal);

// ---- type rules ----

void check_index_operand(ShapeDtype indices, std::string_view what);
// Raises unless the inputs from `first` on are integer scalars of one dtype, one for each dimension
// of inputs[0].
void check_starts(std::span<const ShapeDtype> inputs, size_t first);

}  // namespace farcall::indexing
