#include "ops/indexing/indexing.h"

#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/element_text.h>
#include <farcall/core/error.h>
#include <farcall/core/type_text.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/differentiate.h>

namespace farcall::indexing {

std::vector<int64_t> dims_except(size_t count, std::span<const int64_t> left_out) {
  std::vector<int64_t> dims;
  for (size_t i = 0; i < count; ++i) {
    if (!contains(left_out, i)) dims.push_back(static_cast<int64_t>(i));
  }
  return dims;
}

std::vector<int64_t> shifted(std::span<const int64_t> dims, bool with_new) {
  std::vector<int64_t> result;
  if (with_new) result.push_back(0);
  for (const int64_t dim : dims) result.push_back(dim + 1);
  return result;
}

Array in_front(const BatchCall& call, size_t operand) {
  return move_axis(call.inputs[operand], call.axes[operand], 0, call.axis.size);
}

bool any_batched(const BatchCall& call, size_t first) {
  return std::ranges::any_of(call.axes.subspan(first),
                             [](int64_t axis) { return axis != kNotBatched; });
}

Array stacked_starts(const BatchCall& call, size_t first) {
  const bool is_batched = any_batched(call, first);
  std::vector<Array> columns;
  for (size_t i = first; i < call.inputs.size(); ++i) {
    const Array start = is_batched ? in_front(call, i) : call.inputs[i];
    Shape shape = to_vector(start.shape());
    shape.push_back(1);
    columns.push_back(lax::reshape(start, shape));
  }
  return lax::concatenate(columns, is_batched ? 1 : 0);
}

Array zeros_of(ShapeDtype type) { return instantiate(Array(), type); }

std::string zero_text(DType dtype) {
  const std::byte zero[16] = {};
  return format_element(dtype, zero);
}

Array or_zeros(const Array& tangent, const Array& primal) {
  return instantiate(tangent, primal.type());
}

void check_index_operand(ShapeDtype indices, std::string_view what) {
  if (!is_integer(indices.dtype())) {
    throw TypeError(fmt::format("{} must be integers, got {}", what, indices.to_string()));
  }
}

void check_starts(std::span<const ShapeDtype> inputs, size_t first) {
  const size_t rank = inputs[0].rank();
  if (inputs.size() - first != rank) {
    invalid_argument(fmt::format("expected {} start indices for {}, got {}", rank,
                                 inputs[0].to_string(), inputs.size() - first));
  }
  for (const ShapeDtype& start : inputs.subspan(first)) {
    check_index_operand(start, "start indices");
    if (start.rank() != 0) {
      invalid_argument(fmt::format("start indices must be scalars, got {}", start.to_string()));
    }
    if (start.dtype() != inputs[first].dtype()) {
      invalid_argument(fmt::format("start indices must have one dtype; got {}",
                                   types_to_string(inputs.subspan(first))));
    }
  }
}

}  // namespace farcall::indexing
