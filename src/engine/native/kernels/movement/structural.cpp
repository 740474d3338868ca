// Kernels that move elements: each is one or more strided copies, planned when the kernel is made.
#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include <farcall/core/layout.h>
#include <farcall/primitives/structural.h>

#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/interruptible.h"
#include "engine/native/kernels/movement/moves.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/movement/spaced.h"
#include "engine/native/kernels/movement/strided_copy.h"
#include "engine/native/parallel.h"

namespace farcall::native {
namespace {

using Types = std::span<const ShapeDtype>;

struct MovePlan {
  struct Part {
    StridedCopy copy;
    int64_t source_offset = 0, target_offset = 0;  // bytes
  };
  std::vector<Part> parts;  // one for each input
};

void run_moves(const KernelCall& call) {
  const auto& plan = *static_cast<const MovePlan*>(call.data);
  auto* output = static_cast<std::byte*>(call.operands[plan.parts.size()]);
  for (size_t i = 0; i < plan.parts.size(); ++i) {
    const auto& part = plan.parts[i];
    const auto* from = static_cast<const std::byte*>(call.operands[i]) + part.source_offset;
    auto* const to = output + part.target_offset;
    if (from != to) part.copy.run(from, to);  // else it was computed there
  }
}

ElementSource source_of_transpose(ShapeDtype operand, ShapeDtype, const Params* params) {
  const auto strides = dense_strides(operand.shape());
  ElementSource source;
  for (const int64_t i : params_as<TransposeParams>(params).permutation) {
    source.strides.push_back(strides[i]);
  }
  return source;
}

ElementSource source_of_broadcast(ShapeDtype operand, ShapeDtype result, const Params* params) {
  const auto& dimensions = params_as<BroadcastInDimParams>(params).broadcast_dimensions;
  const auto strides = dense_strides(operand.shape());
  ElementSource source{std::vector<int64_t>(result.rank(), 0)};
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (operand.shape()[i] != 1) source.strides[dimensions[i]] = strides[i];
  }
  return source;
}

ElementSource source_of_slice(ShapeDtype operand, ShapeDtype result, const Params* params) {
  const auto& slice = params_as<SliceParams>(params);
  const auto dense = dense_strides(operand.shape());
  ElementSource source{dense};
  for (size_t i = 0; i < dense.size(); ++i) {
    // With at most one element the stride does not matter, and might overflow.
    if (result.shape()[i] > 1) source.strides[i] *= slice.strides[i];
    source.offset += slice.start_indices[i] * dense[i];
  }
  return source;
}

ElementSource source_of_rev(ShapeDtype operand, ShapeDtype, const Params* params) {
  ElementSource source{dense_strides(operand.shape())};
  for (const int64_t i : params_as<RevParams>(params).dimensions) {
    source.offset += (operand.shape()[i] - 1) * source.strides[i];
    source.strides[i] = -source.strides[i];
  }
  return source;
}

constexpr std::pair<std::string_view,
                    ElementSource (*)(ShapeDtype operand, ShapeDtype result, const Params* params)>
    kSources[] = {{"broadcast_in_dim", source_of_broadcast},
                  {"rev", source_of_rev},
                  {"slice", source_of_slice},
                  {"transpose", source_of_transpose}};

template <size_t kRow>
Kernel make_move(Types inputs, Types outputs, const Params* params) {
  const ShapeDtype output = outputs[0];
  if (output.is_token()) return {};
  const ElementSource source = kSources[kRow].second(inputs[0], output, params);
  const size_t width = byte_width(output.dtype());
  auto plan = std::make_shared<MovePlan>();
  // An empty output has no first element to address.
  const int64_t offset = output.size() == 0 ? 0 : source.offset;
  plan->parts.push_back(
      {StridedCopy(width, output.shape(), source.strides, dense_strides(output.shape())),
       offset * static_cast<int64_t>(width), 0});
  return {.run = run_moves, .data = std::move(plan)};
}

// ---- concatenate

// Short runs of all operands in turn, as one element each.
struct InterleavePlan {
  Interleave interleave;
  int64_t number, rows;  // of operands, of runs in each
};

void run_interleave(const KernelCall& call) {
  constexpr int64_t kTileElements = int64_t{1} << 15;
  const auto& plan = *static_cast<const InterleavePlan*>(call.data);
  void* const output = call.operands[plan.number];
  const int64_t per_tile = std::max(kTileElements / plan.number, int64_t{1});
  const int64_t num_threads = num_threads_for_elements(plan.rows * plan.number);
  run_tiles((plan.rows + per_tile - 1) / per_tile, num_threads, [&](Tiles& tiles) {
    for (int64_t tile; tiles.next(tile);) {
      const int64_t first = tile * per_tile, last = std::min(first + per_tile, plan.rows);
      plan.interleave(call.operands, plan.number, first, last, output);
      if (!tiles.go_on((last - first) * plan.number * kStepCost)) return;
    }
  });
}

// Null unless all operands have runs of one size, that of a wider element.
Kernel make_interleave(Types inputs, ShapeDtype output, int64_t dimension) {
  const auto run_bytes = [&](ShapeDtype type) {
    int64_t bytes = static_cast<int64_t>(byte_width(type.dtype()));
    for (const int64_t size : type.shape().subspan(static_cast<size_t>(dimension))) bytes *= size;
    return bytes;
  };
  const int64_t width = run_bytes(inputs[0]);
  const int64_t number = std::ssize(inputs);
  constexpr int64_t kMostWidth = 16;
  const bool fits =
      number > 1 && width > 0 && width <= kMostWidth &&
      std::has_single_bit(static_cast<uint64_t>(width)) &&
      std::ranges::all_of(inputs, [&](ShapeDtype type) { return run_bytes(type) == width; });
  const int64_t rows = fits ? output.nbytes() / (number * width) : 0;
  if (rows < 2) return {};
  return {.run = run_interleave,
          .data = std::make_shared<InterleavePlan>(
              InterleavePlan{find_interleave(width), number, rows})};
}

Kernel make_concatenate(Types inputs, Types outputs, const Params* params) {
  if (outputs[0].is_token()) return {};
  const int64_t dimension = params_as<ConcatenateParams>(params).dimension;
  if (Kernel kernel = make_interleave(inputs, outputs[0], dimension); kernel.run) return kernel;
  const auto target = dense_strides(outputs[0].shape());
  const size_t width = byte_width(outputs[0].dtype());
  auto plan = std::make_shared<MovePlan>();
  int64_t start = 0;
  for (const auto& input : inputs) {
    const int64_t offset = input.size() == 0 ? 0 : start * target[dimension];
    plan->parts.push_back({StridedCopy(width, input.shape(), dense_strides(input.shape()), target),
                           0, offset * static_cast<int64_t>(width)});
    start += input.shape()[dimension];
  }
  return {.run = run_moves, .data = std::move(plan)};
}

// ---- iota

struct IotaPlan {
  Conversion convert;
  int64_t outer, size, inner;  // elements before, along and after the dimension
};

// Counts once along the dimension, repeats each value over the inner dimensions, then copies the
// result over the outer ones.
void run_iota(const KernelCall& call) {
  const auto& plan = *static_cast<const IotaPlan*>(call.data);
  const size_t width = plan.convert.target_width;
  auto* output = static_cast<std::byte*>(call.operands[0]);
  int64_t numbers[kBlock];
  alignas(16) std::byte values[kBlock * kMaxComputeWidth];
  std::byte* target = output;
  if (plan.outer == 0 || plan.size == 0 || plan.inner == 0) return;
  InterruptCounter counter;
  for (int64_t start = 0; start < plan.size; start += kBlock) {
    const int64_t count = std::min(plan.size - start, kBlock);
    counter.add(count * plan.inner);
    std::iota(numbers, numbers + count, start);
    plan.convert.run(numbers, plan.inner == 1 ? target : values, count);
    if (plan.inner == 1) {
      target += static_cast<size_t>(count) * width;
      continue;
    }
    repeat_elements(target, values, width, count, plan.inner);
    target += static_cast<size_t>(count * plan.inner) * width;
  }
  const auto slab = static_cast<size_t>(target - output);
  for (int64_t i = 1; i < plan.outer; ++i, target += slab) {
    std::memcpy(target, output, slab);
    counter.add(plan.size * plan.inner);
  }
}

Kernel make_iota(Types, Types outputs, const Params* params) {
  const auto shape = outputs[0].shape();
  const auto dimension = static_cast<size_t>(params_as<IotaParams>(params).dimension);
  const auto product = [](std::span<const int64_t> sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  };
  if (outputs[0].is_token()) return {};
  return {.run = run_iota,
          .data = std::make_shared<IotaPlan>(IotaPlan{
              make_conversion(DType::kInt64, outputs[0].dtype()), product(shape.first(dimension)),
              shape[dimension], product(shape.subspan(dimension + 1))})};
}

constexpr KernelRow kRows[] = {
    {kSources[0].first, make_move<0>},
    {"concatenate", make_concatenate},
    {"iota", make_iota},
    {kSources[1].first, make_move<1>},
    {kSources[2].first, make_move<2>},
    {kSources[3].first, make_move<3>},
};

}  // namespace

std::span<const KernelRow> structural_rows() { return kRows; }

std::vector<int64_t> dense_strides(std::span<const int64_t> shape) {
  return strides_of(shape, row_major(shape.size()));
}

std::optional<ElementSource> element_source(std::string_view primitive, ShapeDtype operand,
                                            ShapeDtype result, const Params* params) {
  for (const auto& [name, source_of] : kSources) {
    if (name == primitive) return source_of(operand, result, params);
  }
  return std::nullopt;
}

}  // namespace farcall::native
