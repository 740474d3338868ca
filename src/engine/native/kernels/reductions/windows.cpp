#include "engine/native/kernels/reductions/windows.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include <farcall/core/layout.h>

#include "engine/native/kernels/instruction_sets.h"
#include "engine/native/kernels/vector/prefetch.h"

namespace farcall::native {
namespace {

template <class T>
int64_t load(const void* indices, int64_t i) {
  const T value = static_cast<const T*>(indices)[i];
  if constexpr (sizeof(T) == 8 && std::is_unsigned_v<T>) {
    return static_cast<int64_t>(
        std::min<T>(value, static_cast<T>(std::numeric_limits<int64_t>::max())));
  }
  return static_cast<int64_t>(value);
}

// Calls `visit` with a value of the type that stores an integer dtype.
template <class Visit>
auto visit_stored(DType dtype, Visit visit) {
  const size_t width = byte_width(dtype);
  if (dtype_info(dtype).kind == DTypeKind::kUnsigned) {
    return width == 1   ? visit(uint8_t())
           : width == 2 ? visit(uint16_t())
           : width == 4 ? visit(uint32_t())
                        : visit(uint64_t());
  }
  return width == 1   ? visit(int8_t())
         : width == 2 ? visit(int16_t())
         : width == 4 ? visit(int32_t())
                      : visit(int64_t());
}

// The offset for a start out of bounds. The total stays negative whatever the other components add.
constexpr int64_t kOutside = -(int64_t{1} << 57);

// Writes first, first + step, ….
void count_up(int64_t first, int64_t step, int64_t count, int64_t* to) {
  for (int64_t i = 0; i < count; ++i, first += step) to[i] = first;
}

bool contains(const std::vector<int64_t>& dims, size_t dim) {
  return std::ranges::find(dims, static_cast<int64_t>(dim)) != dims.end();
}

}  // namespace

IndexLoad index_load(DType dtype) {
  return visit_stored(dtype, []<class T>(T) -> IndexLoad { return load<T>; });
}

template <class T>
void Windows::add_starts(const void* indices, int64_t first, int64_t step, int64_t count,
                         Component component, bool clips, int64_t* offsets) {
  const auto add = [&](int64_t every) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t start = load<T>(indices, first + i * every);
      const int64_t above = start < 0 ? 0 : start;
      const int64_t inside = above > component.limit ? component.limit : above;
      const int64_t offset = inside * component.stride;
      offsets[i] += clips || start == inside ? offset : kOutside;
    }
  };
  step == 1 ? add(1) : add(step);
}

Windows::Windows(const GatherDimensionNumbers& numbers, ShapeDtype operand, ShapeDtype indices,
                 ShapeDtype all, std::span<const int64_t> sizes, GatherScatterMode mode)
    : add_starts_(visit_stored(indices.dtype(),
                               []<class T>(T) -> AddStarts { return best_loop<add_starts<T>>(); })),
      clips_(mode == GatherScatterMode::kClip),
      are_elements_apart_(std::ranges::all_of(numbers.start_index_map,
                                              [&](int64_t dim) { return sizes[dim] == 1; })),
      operand_size_(operand.size()) {
  const auto operand_strides = strides_of(operand.shape(), row_major(operand.rank()));
  const auto all_strides = strides_of(all.shape(), row_major(all.rank()));
  for (const int64_t dim : numbers.start_index_map) {
    components_.push_back({operand.shape()[dim] - sizes[dim], operand_strides[dim]});
  }
  for (size_t i = 0, next = 0; i < all.rank(); ++i) {
    if (contains(numbers.offset_dims, i)) continue;
    const auto dim = static_cast<int64_t>(next++);
    int64_t stride = 0;
    for (size_t j = 0; j < numbers.operand_batching_dims.size(); ++j) {
      if (numbers.start_indices_batching_dims[j] == dim) {
        stride = operand_strides[numbers.operand_batching_dims[j]];
      }
    }
    add_number({indices.shape()[dim], all_strides[i], stride});
  }
  for (size_t i = 0, next = 0; i < operand.rank(); ++i) {
    if (contains(numbers.collapsed_slice_dims, i) || contains(numbers.operand_batching_dims, i)) {
      continue;
    }
    shape_.push_back(sizes[i]);
    window_operand_strides_.push_back(operand_strides[i]);
    window_all_strides_.push_back(all_strides[numbers.offset_dims[next++]]);
    size_ *= sizes[i];
  }
}

std::optional<Windows::Line> Windows::line() const {
  const std::optional<Lines> lines = this->lines();
  if (!lines || lines->size != count_ || lines->apart != 0) return std::nullopt;
  return lines->line;
}

std::optional<Windows::Lines> Windows::lines() const {
  if (components_.size() != 1 || components_[0].limit < 0 || numbers_.empty()) return std::nullopt;
  int64_t all_stride = size_;
  for (size_t d = numbers_.size(); d-- > 0; all_stride *= numbers_[d].size) {
    if (numbers_[d].all_stride != all_stride) return std::nullopt;
  }
  int64_t stride = 1;
  for (size_t i = shape_.size(); i-- > 0; stride *= shape_[i]) {
    const bool is_dense = window_operand_strides_[i] == stride && window_all_strides_[i] == stride;
    if (shape_[i] != 1 && !is_dense) return std::nullopt;
  }
  return Lines{{components_[0].limit, components_[0].stride},
               numbers_.back().size,
               numbers_.back().operand_stride};
}

int64_t Windows::start_of_line(int64_t line) const {
  int64_t start = 0;
  for (size_t d = numbers_.size() - 1; d-- > 0; line /= numbers_[d].size) {
    start += line % numbers_[d].size * numbers_[d].operand_stride;
  }
  return start;
}

// Threads that write to neighbouring cache lines would wait for each other, because processors
// request memory ahead; so pieces are large. There are more of them than parts, because few may
// have most of the windows.
DealtPieces deal_pieces(int64_t num_items, int64_t apart, int64_t least_items,
                        int64_t num_threads) {
  constexpr int64_t kLeastPiece = 1024, kMostPiece = 65536;  // bytes
  constexpr int64_t kPiecesOfPart = 4, kMostParts = 8;
  const auto num_parts = static_cast<int64_t>(
      std::bit_floor(static_cast<uint64_t>(std::min(num_threads, kMostParts))));
  if (num_parts == 1) return {};
  const int64_t piece =
      std::clamp(num_items / (num_parts * kPiecesOfPart), kLeastPiece / apart, kMostPiece / apart);
  const int shift = std::bit_width(static_cast<uint64_t>(std::max(piece, least_items) - 1));
  if (num_items >> shift < num_parts * kPiecesOfPart / 2) return {};
  return {num_parts, shift};
}

DealtPieces Windows::places(int64_t width) const {
  // A thread also finds the windows of the others, which takes as long as to visit a short one.
  if (size_ * width < kCacheLine) return {};
  return deal_pieces(operand_size_, width, size_, num_threads_for_elements(count_ * size_));
}

int64_t Windows::keep_part(WindowOffsets& offsets, int64_t count, DealtPieces places,
                           int64_t part) {
  int64_t kept = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t operand = offsets.operand[i];
    offsets.operand[kept] = operand;
    offsets.all[kept] = offsets.all[i];
    kept += (operand >> places.shift & (places.num_parts - 1)) == part;
  }
  return kept;
}

void Windows::add_number(Number next) {
  count_ *= next.size;
  if (next.size == 1) return;
  if (!numbers_.empty()) {
    Number& last = numbers_.back();
    // Merges two dimensions if one continues the other.
    if (last.all_stride == next.size * next.all_stride &&
        last.operand_stride == next.size * next.operand_stride) {
      last = {last.size * next.size, next.all_stride, next.operand_stride};
      return;
    }
  }
  numbers_.push_back(next);
}

std::pair<int64_t, int64_t> Windows::place_of(int64_t element) const {
  int64_t operand = 0, all = 0;
  for (size_t d = shape_.size(); d-- > 0; element /= shape_[d]) {
    operand += element % shape_[d] * window_operand_strides_[d];
    all += element % shape_[d] * window_all_strides_[d];
  }
  return {operand, all};
}

bool Windows::find_all(const void* indices, int64_t* offsets) const {
  int64_t all = 0;
  walk(indices, /*in_any_order=*/false, [&](const WindowOffsets& found, int64_t count) {
    for (int64_t i = 0; i < count; ++i) all |= found.operand[i];
    offsets = std::copy_n(found.operand, count, offsets);
  });
  return all >= 0;
}

void Windows::find(const void* indices, int64_t first, int64_t count,
                   WindowOffsets& offsets) const {
  static const auto count_run = best_loop<count_up>();
  // Processes runs along the last dimension.
  const Number last = numbers_.empty() ? Number{1, 0, 0} : numbers_.back();
  for (int64_t i = 0; i < count;) {
    int64_t operand = 0, all = 0;
    const int64_t at = (first + i) % last.size;
    for (int64_t d = std::ssize(numbers_) - 2, rest = (first + i) / last.size; d >= 0; --d) {
      const Number& number = numbers_[static_cast<size_t>(d)];
      operand += rest % number.size * number.operand_stride;
      all += rest % number.size * number.all_stride;
      rest /= number.size;
    }
    const int64_t run = std::min(count - i, last.size - at);
    count_run(operand + at * last.operand_stride, last.operand_stride, run, offsets.operand + i);
    count_run(all + at * last.all_stride, last.all_stride, run, offsets.all + i);
    i += run;
  }
  const int64_t step = std::ssize(components_);
  for (int64_t k = 0; k < step; ++k) {
    add_starts_(indices, first * step + k, step, count, components_[static_cast<size_t>(k)], clips_,
                offsets.operand);
  }
}

}  // namespace farcall::native
