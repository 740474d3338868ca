// Reads and updates of parts of arrays at computed positions.
#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include <farcall/core/element_text.h>
#include <farcall/primitives/indexing.h>

#include "stablehlo/rules.h"
#include "stablehlo/undivided.h"

namespace farcall::stablehlo {
namespace {

// Indices in i64. No array is as large as the numbers that i64 lacks.
Value widened(Emitter& e, const Value& indices) {
  if (indices.type.dtype() != DType::kUInt64) return e.convert(indices, DType::kInt64);
  const Value most = e.number(indices.type, 0x1p62);
  return e.convert(e.op("stablehlo.minimum", {indices, most}, indices.type), DType::kInt64);
}

// The operands of a slice, whose starts begin at `first`. XLA takes unsigned starts for signed
// ones: constants, and those of 64 bits.
Values with_signed_starts(Emitter& e, std::span<const Value> operands, size_t first) {
  Values all(operands.begin(), operands.end());
  for (size_t i = first; i < all.size(); ++i) {
    const bool is_unsigned = dtype_info(all[i].type.dtype()).kind == DTypeKind::kUnsigned;
    if (is_unsigned) all[i] = widened(e, all[i]);
  }
  return all;
}

Values dynamic_slice(Emitter& e, const Call& call) {
  return {e.op("stablehlo.dynamic_slice", with_signed_starts(e, call.inputs, 1), call.result(),
               "slice_sizes = " + array_text(call.params<DynamicSliceParams>().slice_sizes))};
}

// The last possible start of a window in each dimension that the indices name, broadcast to their
// shape.
Value last_starts(Emitter& e, ShapeDtype indices, std::span<const int64_t> operand,
                  std::span<const int64_t> window, std::span<const int64_t> dimensions) {
  std::vector<int64_t> last;
  for (const int64_t d : dimensions) {
    last.push_back(operand[static_cast<size_t>(d)] - window[static_cast<size_t>(d)]);
  }
  const Value line =
      e.constant(ShapeDtype(DType::kInt64, {static_cast<int64_t>(last.size())}), last.data());
  const std::array where = {static_cast<int64_t>(indices.rank()) - 1};
  return e.broadcast_in_dim(line, indices.shape(), where);
}

Value clipped(Emitter& e, const Value& indices, const Value& last) {
  return e.op("stablehlo.clamp", {e.number(indices.type, 0), indices, last}, indices.type);
}

Value fill_value(Emitter& e, const std::optional<std::string>& text, ShapeDtype type) {
  if (text) {
    std::array<std::byte, 16> element{};
    parse_element(type.dtype(), *text, element.data());
    return e.splat(type, element.data());
  }
  switch (dtype_info(type.dtype()).kind) {
    case DTypeKind::kBool:
      return e.number(type, 1);
    case DTypeKind::kUnsigned:
      return extreme(e, type, true).first;
    case DTypeKind::kSigned:
      return extreme(e, type, false).first;
    default:
      return e.number(type, std::numeric_limits<double>::quiet_NaN());
  }
}

// Whether each window is inside the operand, broadcast to the result's shape.
Value is_inside(Emitter& e, const Value& indices, const Value& last, const GatherParams& p,
                ShapeDtype result) {
  const ShapeDtype truth = indices.type.with_dtype(DType::kBool);
  const Value each = e.op(
      "stablehlo.and",
      {e.compare("GE", indices, e.number(indices.type, 0)), e.compare("LE", indices, last)}, truth);
  const std::string body = reducer(e, DType::kBool, "stablehlo.and");
  const auto shape = indices.type.shape();
  const std::array components = {static_cast<int64_t>(shape.size()) - 1};
  const ShapeDtype windows = truth.with_shape(shape.first(shape.size() - 1));
  const Value all = e.op(
      "stablehlo.reduce", Values{each, e.number(ShapeDtype(DType::kBool, {}), 1)},
      std::span(&windows, 1), "dimensions = " + array_text(components), std::span(&body, 1))[0];
  std::vector<int64_t> where;
  for (int64_t d = 0; d < static_cast<int64_t>(result.rank()); ++d) {
    if (std::ranges::find(p.offset_dims, d) == p.offset_dims.end()) where.push_back(d);
  }
  return e.broadcast_in_dim(all, result.shape(), where);
}

Values gather(Emitter& e, const Call& call) {
  const auto& p = call.params<GatherParams>();
  const Value& operand = call.inputs[0];
  // A window larger than the operand cannot be moved inside.
  for (size_t d = 0; d < p.slice_sizes.size(); ++d) {
    if (p.slice_sizes[d] > operand.type.shape()[d]) return {};
  }
  // Keys have no fill value, and the narrowest floats have no NaN.
  const bool has_fill_value = !is_key(call.dtype()) && dtype_info(call.dtype()).bits >= 8;
  if (p.mode == GatherScatterMode::kFillOrDrop && !has_fill_value) return {};
  const Value indices = widened(e, call.inputs[1]);  // the last dimension: the parts of a start
  std::string numbers = fmt::format("offset_dims = {}, collapsed_slice_dims = {}, ",
                                    list_text(p.offset_dims), list_text(p.collapsed_slice_dims));
  if (!p.operand_batching_dims.empty()) {
    numbers +=
        fmt::format("operand_batching_dims = {}, start_indices_batching_dims = {}, ",
                    list_text(p.operand_batching_dims), list_text(p.start_indices_batching_dims));
  }
  numbers += fmt::format("start_index_map = {}, index_vector_dim = {}",
                         list_text(p.start_index_map), indices.type.rank() - 1);
  const Value found =
      e.op("stablehlo.gather", {operand, indices}, call.result(),
           fmt::format("dimension_numbers = #stablehlo.gather<{}>, slice_sizes = {}, "
                       "indices_are_sorted = {}",
                       numbers, array_text(p.slice_sizes), p.indices_are_sorted));
  // StableHLO itself moves windows inside the operand.
  if (p.mode != GatherScatterMode::kFillOrDrop) return {found};
  const Value last =
      last_starts(e, indices.type, operand.type.shape(), p.slice_sizes, p.start_index_map);
  return {e.select(is_inside(e, indices, last, p, call.result()), found,
                   fill_value(e, p.fill_value, call.result()))};
}

// The dimensions that a scatter must have whole: those along which it writes parts of the operand,
// and those of the updates and indices that count the parts. XLA computes wrong values where they
// are divided, in a scatter after another one and where the parts are uneven.
struct ScatteredDims {
  std::vector<int64_t> operand, indices, updates;
};

ScatteredDims scattered_dims(const ScatterParams& p, ShapeDtype operand, ShapeDtype updates) {
  const auto has = [](const std::vector<int64_t>& dims, size_t d) {
    return std::ranges::find(dims, static_cast<int64_t>(d)) != dims.end();
  };
  ScatteredDims dims;
  size_t next = 0;
  for (size_t d = 0; d < operand.rank(); ++d) {
    if (has(p.operand_batching_dims, d)) continue;
    const bool is_inserted = has(p.inserted_window_dims, d);
    const int64_t in_updates = is_inserted ? -1 : p.update_window_dims[next++];
    const bool is_whole = !is_inserted && !has(p.scatter_dims_to_operand_dims, d) &&
                          updates.shape()[static_cast<size_t>(in_updates)] == operand.shape()[d];
    if (is_whole) continue;
    dims.operand.push_back(static_cast<int64_t>(d));
    if (!is_inserted) dims.updates.push_back(in_updates);
  }
  size_t in_indices = 0;
  for (size_t d = 0; d < updates.rank(); ++d) {
    if (has(p.update_window_dims, d)) continue;
    if (!has(p.scatter_indices_batching_dims, in_indices)) {
      dims.updates.push_back(static_cast<int64_t>(d));
      dims.indices.push_back(static_cast<int64_t>(in_indices));
    }
    ++in_indices;
  }
  return dims;
}

// `operation` combines elements; if it is empty, the update replaces the element.
Rule scatter_by(std::string_view operation) {
  return [operation](Emitter& e, const Call& call) -> Values {
    const auto& p = call.params<ScatterParams>();
    const Value &operand = call.inputs[0], &updates = call.inputs[2];
    const bool is_extreme = operation == "stablehlo.minimum" || operation == "stablehlo.maximum";
    if (is_extreme && is_complex(call.dtype())) return {};
    // XLA takes indices without components to mean no updates.
    if (p.scatter_dims_to_operand_dims.empty()) return {};
    Value indices = widened(e, call.inputs[1]);
    if (p.mode == GatherScatterMode::kClip) {
      indices = clipped(
          e, indices,
          last_starts(e, indices.type, operand.type.shape(),
                      window_sizes(p, operand.type, updates.type), p.scatter_dims_to_operand_dims));
    }
    std::string numbers =
        fmt::format("update_window_dims = {}, inserted_window_dims = {}, ",
                    list_text(p.update_window_dims), list_text(p.inserted_window_dims));
    if (!p.operand_batching_dims.empty()) {
      numbers += fmt::format("input_batching_dims = {}, scatter_indices_batching_dims = {}, ",
                             list_text(p.operand_batching_dims),
                             list_text(p.scatter_indices_batching_dims));
    }
    numbers += fmt::format("scatter_dims_to_operand_dims = {}, index_vector_dim = {}",
                           list_text(p.scatter_dims_to_operand_dims), indices.type.rank() - 1);
    const ShapeDtype type(call.dtype(), {});
    const std::string body =
        operation.empty()
            ? e.region(std::array{type, type}, [](const Values& x) { return Values{x[1]}; })
            : reducer(e, call.dtype(), operation);
    const ScatteredDims dims = scattered_dims(p, operand.type, updates.type);
    const Values operands = {undivided(e, operand, dims.operand),
                             undivided(e, indices, dims.indices),
                             undivided(e, updates, dims.updates)};
    const Value updated = e.op("stablehlo.scatter", operands, call.results,
                               fmt::format("scatter_dimension_numbers = #stablehlo.scatter<{}>, "
                                           "indices_are_sorted = {}, unique_indices = {}",
                                           numbers, p.indices_are_sorted, p.unique_indices),
                               std::span(&body, 1))[0];
    return {undivided(e, updated, dims.operand)};
  };
}

}  // namespace

void add_indexing(Rules& rules) {
  rules["dynamic_slice"] = dynamic_slice;
  rules["dynamic_update_slice"] = [](Emitter& e, const Call& call) {
    return Values{e.op("stablehlo.dynamic_update_slice", with_signed_starts(e, call.inputs, 2),
                       call.result())};
  };
  rules["gather"] = gather;
  rules["scatter"] = scatter_by("");
  rules["scatter_add"] = scatter_by("stablehlo.add");
  rules["scatter_mul"] = scatter_by("stablehlo.multiply");
  rules["scatter_min"] = scatter_by("stablehlo.minimum");
  rules["scatter_max"] = scatter_by("stablehlo.maximum");
}

}  // namespace farcall::stablehlo
