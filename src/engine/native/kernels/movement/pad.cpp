// The kernel of pad.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include <farcall/primitives/indexing.h>

#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/interruptible.h"
#include "engine/native/kernels/movement/moves.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/movement/spaced.h"
#include "engine/native/kernels/movement/strided_copy.h"
#include "engine/native/kernels/vector/prefetch.h"
#include "engine/native/parallel.h"

namespace farcall::native {
namespace {

using Types = std::span<const ShapeDtype>;

// Elements are interleaved up to this distance, so many of them at a time.
constexpr int64_t kMostSpaced = 4, kSpacedAtOnce = 1024, kMaxPadWidth = 8;

// A dimension: how its positions in the output map to the operand.
struct PadDimension {
  int64_t size;           // of the output
  int64_t low, step;      // the position of element 0, and the distance of elements
  int64_t first, last;    // the elements inside the output, first to last - 1
  int64_t source_stride;  // bytes
};

struct PadPlan {
  StridedCopy copy;  // of a row: everything inside the leading dimensions
  int64_t source_offset = 0, target_offset = 0;  // bytes, within a row
  size_t width = 0;
  int64_t row_size = 1, num_rows = 1;  // of the output
  std::vector<PadDimension> leading;
  // The rows of a last dimension with elements between those of the operand, taken in turn from the
  // operand and from the padding; null for others.
  Interleave interleave = nullptr;
  PadDimension spaced{};
  bool is_empty = false;  // nothing of the operand is inside the output
  bool fills = false;     // rows have elements beside those of the operand
};

// The offset of a row's elements in the operand in bytes; -1 if the row is all padding.
int64_t padded_row(const PadPlan& plan, int64_t row) {
  int64_t offset = 0;
  for (size_t i = plan.leading.size(); i-- > 0;) {
    const PadDimension& dimension = plan.leading[i];
    const int64_t position = row % dimension.size - dimension.low;
    row /= dimension.size;
    if (position < 0 || position % dimension.step != 0) return -1;
    const int64_t element = position / dimension.step;
    if (element < dimension.first || element >= dimension.last) return -1;
    offset += element * dimension.source_stride;
  }
  return offset;
}

// A part of the elements of a row of the operand, and the padding between and after them. The first
// and the last part have that at the ends of the row too.
void pad_spaced(const PadPlan& plan, const std::byte* from, const std::byte* padding, int64_t first,
                int64_t last, std::byte* row) {
  const auto at = [&](int64_t position) {
    return row + static_cast<size_t>(position) * plan.width;
  };
  const PadDimension& dimension = plan.spaced;
  const int64_t start = dimension.low + first * dimension.step;
  if (first == dimension.first) fill_elements(row, padding, plan.width, start);
  const bool is_end = last == dimension.last;
  const void* sources[kMostSpaced];
  std::fill_n(sources, dimension.step, padding);
  sources[0] = from + first * dimension.source_stride;
  const int64_t whole = last - first - (is_end ? 1 : 0);
  plan.interleave(sources, dimension.step, 0, whole, at(start));
  if (!is_end) return;
  const int64_t end = start + whole * dimension.step;
  std::memcpy(at(end), from + (last - 1) * dimension.source_stride, plan.width);
  fill_elements(at(end + 1), padding, plan.width, plan.row_size - end - 1);
}

void run_pad_spaced(const PadPlan& plan, const KernelCall& call) {
  const auto* operand = static_cast<const std::byte*>(call.operands[0]);
  auto* output = static_cast<std::byte*>(call.operands[2]);
  const PadDimension& dimension = plan.spaced;
  const int64_t count = dimension.last - dimension.first;
  const int64_t num_parts = (count - 1) / kSpacedAtOnce + 1;
  const size_t row_bytes = static_cast<size_t>(plan.row_size) * plan.width;
  run_tiles(plan.num_rows * num_parts, num_threads_for_elements(plan.num_rows * plan.row_size / 2),
            [&](Tiles& tiles) {
              alignas(kCacheLine) std::byte padding[kSpacedAtOnce * kMaxPadWidth];
              fill_elements(padding, call.operands[1], plan.width, std::min(count, kSpacedAtOnce));
              for (int64_t tile; tiles.next(tile);) {
                const int64_t row = tile / num_parts, part = tile % num_parts;
                std::byte* const to = output + static_cast<size_t>(row) * row_bytes;
                const int64_t from = padded_row(plan, row);
                const int64_t first = dimension.first + part * kSpacedAtOnce;
                const int64_t last = std::min(first + kSpacedAtOnce, dimension.last);
                if (from >= 0) {
                  pad_spaced(plan, operand + from, padding, first, last, to);
                } else if (part == 0) {
                  fill_elements(to, padding, plan.width, plan.row_size);
                }
                if (!tiles.go_on((last - first) * dimension.step)) return;
              }
            });
}

// Row by row, so that what is filled first and copied to then is still in the cache.
void run_pad(const KernelCall& call) {
  const auto& plan = *static_cast<const PadPlan*>(call.data);
  const auto* operand = static_cast<const std::byte*>(call.operands[0]);
  auto* output = static_cast<std::byte*>(call.operands[2]);
  const int64_t size = plan.row_size * plan.num_rows;
  if (size == 0) return;
  if (plan.is_empty) return fill_elements(output, call.operands[1], plan.width, size);
  if (plan.interleave) return run_pad_spaced(plan, call);
  const size_t row_bytes = static_cast<size_t>(plan.row_size) * plan.width;
  const auto pad_row = [&](int64_t row) {
    std::byte* const to = output + static_cast<size_t>(row) * row_bytes;
    const int64_t from = padded_row(plan, row);
    if (from < 0 || plan.fills) fill_elements(to, call.operands[1], plan.width, plan.row_size);
    if (from >= 0) plan.copy.run(operand + from + plan.source_offset, to + plan.target_offset);
  };
  constexpr int64_t kTileElements = int64_t{1} << 15;
  const int64_t per_tile = kTileElements / plan.row_size;
  if (per_tile == 0 || plan.num_rows <= per_tile) {
    InterruptCounter counter;
    for (int64_t row = 0; row < plan.num_rows; ++row) {
      pad_row(row);  // distributes the copy of a long row over threads
      counter.add(plan.row_size);
    }
    return;
  }
  run_tiles((plan.num_rows - 1) / per_tile + 1, num_threads_for_elements(size / 4),
            [&](Tiles& tiles) {
              for (int64_t tile; tiles.next(tile);) {
                const int64_t last = std::min(plan.num_rows, (tile + 1) * per_tile);
                for (int64_t row = tile * per_tile; row < last; ++row) pad_row(row);
                if (!tiles.go_on(per_tile * plan.row_size)) return;
              }
            });
}

// Whether the last dimension has elements that are interleaved.
bool is_spaced(const std::vector<PadDimension>& dimensions, int64_t width) {
  constexpr int64_t kLeastCount = 16;
  if (dimensions.empty() || width > kMaxPadWidth) return false;
  const PadDimension& last = dimensions.back();
  return last.step > 1 && last.step <= kMostSpaced && last.last - last.first >= kLeastCount;
}

Kernel make_pad(Types inputs, Types outputs, const Params* params) {
  const ShapeDtype from = inputs[0], to = outputs[0];
  if (to.is_token()) return {};
  const auto& config = params_as<PadParams>(params).padding_config;
  const auto width = static_cast<int64_t>(byte_width(to.dtype()));
  const auto source = dense_strides(from.shape());
  auto target = dense_strides(to.shape());
  auto plan = std::make_shared<PadPlan>();
  plan->width = static_cast<size_t>(width);
  std::vector<PadDimension> dimensions;
  for (size_t i = 0; i < config.size(); ++i) {
    const int64_t step = config[i].interior + 1, low = config[i].low;
    const int64_t first = low < 0 ? -low / step + (-low % step != 0 ? 1 : 0) : 0;
    const int64_t room = to.shape()[i] - 1 - low;  // last position, relative to element 0
    const int64_t last = room < 0 ? -1 : std::min(from.shape()[i] - 1, room / step);
    dimensions.push_back(
        {to.shape()[i], low, step, first, std::max(first, last + 1), source[i] * width});
    if (dimensions.back().last == first) plan->is_empty = true;
  }
  size_t num_leading = config.size();
  if (!plan->is_empty && is_spaced(dimensions, width)) {
    plan->spaced = dimensions.back();
    plan->interleave = find_interleave(width);
    plan->row_size = to.shape()[--num_leading];
  }
  // Other rows are long enough to be worth a call, and short enough for the cache.
  constexpr int64_t kLeastBytes = 4096;
  while (!plan->interleave && num_leading > 0 && plan->row_size * width < kLeastBytes) {
    plan->row_size *= to.shape()[--num_leading];
  }
  Shape kept;  // by dimension of a row: the number of elements inside the output
  int64_t num_kept = 1;
  for (size_t i = num_leading; i < config.size() && !plan->is_empty; ++i) {
    const PadDimension& dimension = dimensions[i];
    kept.push_back(dimension.last - dimension.first);
    num_kept *= kept.back();
    plan->source_offset += dimension.first * dimension.source_stride;
    plan->target_offset += (dimension.low + dimension.first * dimension.step) * target[i] * width;
    // With a single element the step is unused, and may exceed the result.
    if (kept.back() > 1) target[i] *= dimension.step;
  }
  if (!plan->is_empty) {
    plan->copy = StridedCopy(plan->width, kept, std::span(source).subspan(num_leading),
                             std::span(target).subspan(num_leading));
  }
  plan->fills = num_kept != plan->row_size;
  plan->leading.assign(dimensions.begin(), dimensions.begin() + static_cast<int64_t>(num_leading));
  for (const PadDimension& dimension : plan->leading) plan->num_rows *= dimension.size;
  return {.run = run_pad, .data = std::move(plan)};
}

constexpr KernelRow kRows[] = {{"pad", make_pad}};

}  // namespace

std::span<const KernelRow> pad_rows() { return kRows; }

}  // namespace farcall::native
