// The primitives that read and write parts of arrays at computed indices, as functions of
// farcall::lax; see lax.h, and primitives/indexing.h for the parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/primitives/indexing.h>
#include <farcall/trace/array.h>

namespace farcall::lax {

// The slice of this shape at the start indices, one integer scalar for each dimension, or the
// operand with that slice replaced. Starts are clamped so that the slice is inside the operand.
// With `allow_negative_indices`, negative indices count from the end first. The primitives
// themselves treat them as positions before the beginning.
FARCALL_API Array dynamic_slice(const Array& operand, ListOf<Array> start_indices,
                                ListOf<int64_t> slice_sizes, bool allow_negative_indices = true);
FARCALL_API Array dynamic_update_slice(const Array& operand, const Array& update,
                                       ListOf<Array> start_indices,
                                       bool allow_negative_indices = true);
// An index into a dimension of this size; negative values count from the end.
FARCALL_API Array wrap_negative(const Array& index, int64_t size);

// Adds copies of a scalar around and between the elements. Negative padding removes elements.
FARCALL_API Array pad(const Array& operand, const Array& padding_value,
                      std::span<const PaddingDimension> padding_config);

// The value of a scalar, converted to the dtype, as element text.
FARCALL_API std::string fill_text(const Array& value, DType dtype);

struct GatherOptions {
  GatherScatterMode mode = GatherScatterMode::kFillOrDrop;
  std::optional<std::string> fill_value = {};  // as element text
  bool unique_indices = false;
  bool indices_are_sorted = false;
};
// The window of the operand at each index. slice_sizes is the size of a window in every dimension
// of the operand. Raises TypeError for indices that are not integers.
FARCALL_API Array gather(const Array& operand, const Array& start_indices,
                         const GatherDimensionNumbers& dimension_numbers,
                         ListOf<int64_t> slice_sizes, const GatherOptions& options = {});

struct ScatterOptions {
  GatherScatterMode mode = GatherScatterMode::kFillOrDrop;
  bool unique_indices = false;
  bool indices_are_sorted = false;
};
using ScatterFunction = Array(const Array& operand, const Array& indices, const Array& updates,
                              const ScatterDimensionNumbers& dimension_numbers,
                              const ScatterOptions& options);
// The operand with each window of the updates written to, or combined with, its place. If several
// updates write one element, scatter keeps the last one; the others combine all of them. The
// derivative of scatter_mul with respect to the updates needs unique_indices.
FARCALL_API Array scatter(const Array& operand, const Array& indices, const Array& updates,
                          const ScatterDimensionNumbers& dimension_numbers,
                          const ScatterOptions& options = {});
FARCALL_API Array scatter_add(const Array& operand, const Array& indices, const Array& updates,
                              const ScatterDimensionNumbers& dimension_numbers,
                              const ScatterOptions& options = {});
FARCALL_API Array scatter_mul(const Array& operand, const Array& indices, const Array& updates,
                              const ScatterDimensionNumbers& dimension_numbers,
                              const ScatterOptions& options = {});
FARCALL_API Array scatter_min(const Array& operand, const Array& indices, const Array& updates,
                              const ScatterDimensionNumbers& dimension_numbers,
                              const ScatterOptions& options = {});
FARCALL_API Array scatter_max(const Array& operand, const Array& indices, const Array& updates,
                              const ScatterDimensionNumbers& dimension_numbers,
                              const ScatterOptions& options = {});

}  // namespace farcall::lax
