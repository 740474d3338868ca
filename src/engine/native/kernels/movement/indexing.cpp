// Kernels that read and write parts of arrays at computed positions.
#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <farcall/core/element_text.h>
#include <farcall/primitives/indexing.h>

#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/interruptible.h"
#include "engine/native/kernels/movement/fill_value.h"
#include "engine/native/kernels/movement/moves.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/movement/slice_start.h"
#include "engine/native/kernels/movement/strided_copy.h"
#include "engine/native/kernels/movement/take.h"
#include "engine/native/kernels/reductions/windows.h"
#include "engine/native/kernels/width.h"
#include "engine/native/parallel.h"

namespace farcall::native {
namespace {

using Types = std::span<const ShapeDtype>;

// ---- dynamic_slice, dynamic_update_slice

struct PartPlan {
  StridedCopy copy;
  SliceStart start;
  size_t rank = 0;
  size_t nbytes = 0;  // of the whole array
};

// `starts` are the types of the indices, which follow `first_start` other operands.
PartPlan make_part(ShapeDtype whole, ShapeDtype part, Types starts, uint32_t first_start) {
  const auto whole_strides = dense_strides(whole.shape());
  const auto part_strides = dense_strides(part.shape());
  std::vector<SliceStart::Index> indices;
  for (uint32_t i = 0; i < starts.size(); ++i) indices.push_back({.operand = first_start + i});
  const DType dtype = starts.empty() ? DType::kInt32 : starts[0].dtype();
  const bool is_update = first_start == 2;
  return {.copy = StridedCopy(byte_width(whole.dtype()), part.shape(),
                              is_update ? part_strides : whole_strides,
                              is_update ? whole_strides : part_strides),
          .start = SliceStart(whole, part, dtype, std::move(indices)),
          .rank = whole.rank(),
          .nbytes = whole.nbytes()};
}

void run_dynamic_slice(const KernelCall& call) {
  const auto& plan = *static_cast<const PartPlan*>(call.data);
  const auto* operand = static_cast<const std::byte*>(call.operands[0]);
  plan.copy.run(operand + plan.start.offset(call.operands), call.operands[1 + plan.rank]);
}

Kernel make_dynamic_slice(Types inputs, Types outputs, const Params*) {
  if (outputs[0].is_token()) return {};
  return {.run = run_dynamic_slice,
          .data = std::make_shared<PartPlan>(
              make_part(inputs[0], outputs[0], inputs.subspan(1), /*first_start=*/1))};
}

void run_dynamic_update_slice(const KernelCall& call) {
  const auto& plan = *static_cast<const PartPlan*>(call.data);
  auto* output = static_cast<std::byte*>(call.operands[2 + plan.rank]);
  if (output != call.operands[0] && plan.nbytes > 0) {
    std::memcpy(output, call.operands[0], plan.nbytes);
  }
  plan.copy.run(call.operands[1], output + plan.start.offset(call.operands));
}

Kernel make_dynamic_update_slice(Types inputs, Types outputs, const Params*) {
  if (outputs[0].is_token()) return {};
  return {.run = run_dynamic_update_slice,
          .data = std::make_shared<PartPlan>(
              make_part(inputs[0], inputs[1], inputs.subspan(2), /*first_start=*/2))};
}

// ---- gather

struct GatherPlan {
  Windows windows;
  StridedCopy copy, fill;  // of one window
  FillValue fill_value;
  size_t width, index_width;
  std::optional<Take> take;
  bool is_side_by_side = false;
};

void run_take(const GatherPlan& plan, const KernelCall& call) {
  constexpr int64_t kTaken = 4096;  // elements per tile
  const int64_t count = plan.windows.count(), size = plan.windows.size();
  const int64_t per_tile = std::max<int64_t>(1, kTaken / size);
  const Windows::Lines lines = *plan.windows.lines();
  const auto width = static_cast<int64_t>(plan.width);
  const auto* operand = static_cast<const std::byte*>(call.operands[0]);
  const auto* indices = static_cast<const std::byte*>(call.operands[1]);
  auto* output = static_cast<std::byte*>(call.operands[2]);
  const auto take_windows = [&](int64_t first, int64_t last) {
    while (first < last) {
      const int64_t line = first / lines.size, at = first % lines.size;
      const int64_t some = std::min(last - first, lines.size - at);
      const int64_t from = plan.windows.start_of_line(line) + at * lines.apart;
      plan.take->run(indices + static_cast<size_t>(first) * plan.index_width,
                     operand + from * width, some, output + first * size * width);
      first += some;
    }
  };
  run_tiles((count + per_tile - 1) / per_tile, num_threads_for_elements(count * size),
            [&](Tiles& tiles) {
              for (int64_t block; tiles.next(block);) {
                const int64_t first = block * per_tile, last = std::min(first + per_tile, count);
                take_windows(first, last);
                if (!tiles.go_on((last - first) * size * kStepCost)) return;
              }
            });
}

// Gathers windows of one element.
template <class T>
void gather_elements(const GatherPlan& plan, const KernelCall& call) {
  const auto* operand = static_cast<const T*>(call.operands[0]);
  auto* output = static_cast<T*>(call.operands[2]);
  T fill;
  std::memcpy(&fill, plan.fill_value.data(), sizeof(T));
  plan.windows.walk(call.operands[1], /*in_any_order=*/true,
                    [&](const WindowOffsets& offsets, int64_t count) {
                      for (int64_t i = 0; i < count; ++i) {
                        const int64_t from = offsets.operand[i];
                        output[offsets.all[i]] = from < 0 ? fill : operand[from];
                      }
                    });
}

template <class T>
void take_offsets(const T* from, const int64_t* offsets, int64_t count, T fill, T* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = offsets[i] < 0 ? fill : from[offsets[i]];
}
// The same if none is outside.
template <class T>
void take_inside(const T* from, const int64_t* offsets, int64_t count, T* to) {
#pragma GCC unroll 8
  for (int64_t i = 0; i < count; ++i) to[i] = from[offsets[i]];
}

// Gathers the first elements of all windows, then the second elements, and so on.
template <class T>
void gather_side_by_side(const GatherPlan& plan, const KernelCall& call) {
  const auto* operand = static_cast<const T*>(call.operands[0]);
  auto* output = static_cast<T*>(call.operands[2]);
  T fill;
  std::memcpy(&fill, plan.fill_value.data(), sizeof(T));
  const int64_t count = plan.windows.count();
  plan.windows.walk_elements(call.operands[1], [&](const ElementOffsets& found) {
    if (found.are_inside) {
      take_inside(operand + found.operand, found.windows, count, output + found.all);
    } else {
      take_offsets(operand + found.operand, found.windows, count, fill, output + found.all);
    }
  });
}

void run_gather(const KernelCall& call) {
  const auto& plan = *static_cast<const GatherPlan*>(call.data);
  if (plan.windows.size() == 0) return;
  if (plan.take) return run_take(plan, call);
  if (plan.is_side_by_side) {
    return visit_width(static_cast<int64_t>(plan.width),
                       [&]<class T>(T) { gather_side_by_side<T>(plan, call); });
  }
  if (plan.windows.size() == 1) {
    return visit_width(static_cast<int64_t>(plan.width),
                       [&]<class T>(T) { gather_elements<T>(plan, call); });
  }
  constexpr int64_t kAhead = 8;  // the prefetch distance, in windows
  const auto width = static_cast<int64_t>(plan.width);
  const auto dense = static_cast<size_t>(plan.copy.dense_bytes());
  const auto* operand = static_cast<const std::byte*>(call.operands[0]);
  auto* output = static_cast<std::byte*>(call.operands[2]);
  plan.windows.walk(call.operands[1], /*in_any_order=*/true,
                    [&](const WindowOffsets& offsets, int64_t count) {
                      for (int64_t i = 0; i < count; ++i) {
                        const int64_t from = offsets.operand[i];
                        std::byte* const to = output + offsets.all[i] * width;
                        const int64_t later = offsets.operand[std::min(i + kAhead, count - 1)];
                        if (later > 0) __builtin_prefetch(operand + later * width);
                        if (from < 0) {
                          plan.fill.run(plan.fill_value.data(), to);
                        } else if (dense > 0) {
                          copy_bytes(operand + from * width, to, dense);
                        } else {
                          plan.copy.run(operand + from * width, to);
                        }
                      }
                    });
}

FillValue default_fill(DType dtype) {
  FillValue element{};
  const auto from = [&]<class T>(T value) {
    make_conversion(kDTypeOf<T>, dtype).run(&value, element.data(), 1);
  };
  switch (dtype_info(dtype).kind) {
    case DTypeKind::kSigned:
      from(static_cast<int64_t>(uint64_t(-1) << (dtype_info(dtype).bits - 1)));
      break;
    case DTypeKind::kUnsigned:
    case DTypeKind::kBool:
    case DTypeKind::kKey:
      from(int64_t{-1});
      break;
    default:
      from(std::numeric_limits<double>::quiet_NaN());
  }
  return element;
}

Kernel make_gather(Types inputs, Types outputs, const Params* params) {
  const auto& p = params_as<GatherParams>(params);
  const DType dtype = inputs[0].dtype();
  const size_t width = byte_width(dtype);
  Windows windows = windows_of_gather(p, inputs[0], inputs[1], outputs[0]);
  const std::vector<int64_t> no_strides(windows.shape().size(), 0);
  StridedCopy copy(width, windows.shape(), windows.operand_strides(), windows.all_strides());
  StridedCopy fill(width, windows.shape(), no_strides, windows.all_strides());
  constexpr int64_t kLeastSideBySide = 8;
  const bool is_side_by_side = windows.are_side_by_side() && windows.count() >= kLeastSideBySide;
  // Lines of few windows take as long as windows by themselves.
  constexpr int64_t kLeastLine = 8;
  const std::optional<Windows::Lines> lines = windows.lines();
  const bool is_on_long_lines = lines && (lines->size >= kLeastLine || windows.line());
  const std::optional<Take> take =
      is_on_long_lines ? Take::of(windows, p, dtype, inputs[1].dtype()) : std::nullopt;
  return {.run = run_gather,
          .data = std::make_shared<GatherPlan>(
              GatherPlan{std::move(windows), copy, fill, fill_value_of(dtype, p), width,
                         byte_width(inputs[1].dtype()), take, is_side_by_side})};
}

constexpr KernelRow kRows[] = {
    {"dynamic_slice", make_dynamic_slice},
    {"dynamic_update_slice", make_dynamic_update_slice, KernelTrait::kUpdatesFirstInput},
    {"gather", make_gather},
};

}  // namespace

FillValue fill_value_of(DType dtype, const GatherParams& params) {
  FillValue element = default_fill(dtype);
  if (params.fill_value) parse_element(dtype, *params.fill_value, element.data());
  return element;
}

std::span<const KernelRow> indexing_rows() { return kRows; }

}  // namespace farcall::native
