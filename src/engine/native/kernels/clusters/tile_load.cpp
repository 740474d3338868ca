#include "engine/native/kernels/clusters/tile_load.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>

#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/instruction_sets.h"
#include "engine/native/kernels/movement/stores_past_caches.h"
#include "engine/native/kernels/vector/prefetch.h"
#include "engine/native/kernels/width.h"

namespace farcall::native {
namespace {

// Shorter runs are faster as a separate copy of the operand.
constexpr int64_t kLeastRun = 8;
// Larger strides use too little of each cache line.
constexpr int64_t kMostStride = 8;
// The rows of a tile of transposed elements, one or two cache lines of the operand, take at most
// these bytes: a part of a second-level cache.
constexpr int64_t kMostTransposedBytes = int64_t{128} << 10;
// Fewer elements are transposed faster by themselves.
constexpr int64_t kLeastTransposedBytes = int64_t{1} << 20;
// So are many, in rows of whole cache lines, if rows of the operand are farther apart: the copy can
// be written past the caches.
constexpr int64_t kMostBytesApart = int64_t{8} << 10;

// The next steps write, and reads would wait for them to end: lines of the next tile are requested
// now. Processors predict reads that go down less well than those that go up.
template <class T>
void load_reversed(const T* source, int64_t count, T* target) {
  constexpr auto kLine = static_cast<int64_t>(kCacheLine / sizeof(T)), kBlock = 16 * kLine;
  for (int64_t start = 0; start < count; start += kBlock) {
    const int64_t size = std::min(kBlock, count - start);
    for (int64_t i = 0; i < size; i += kLine) __builtin_prefetch(source - i - count);
    for (int64_t i = 0; i < size; ++i) target[i] = source[-i];
    source -= size;
    target += size;
  }
}

template <class T>
void load_dense(const T* source, int64_t count, T* target) {
  copy_bytes(reinterpret_cast<const std::byte*>(source), reinterpret_cast<std::byte*>(target),
             static_cast<size_t>(count) * sizeof(T));
}

// Repeats the first `size` elements up to `count`, a multiple.
template <class T>
void repeat_row(T* row, int64_t size, int64_t count) {
  for (int64_t at = size; at < count; at += size) {
    size = std::min(at, count - at);
    load_dense(row, size, row + at);
  }
}

// Walks the rows of an array: all its dimensions but the last, of which each has a size and a
// stride.
template <class Dimension>
class RowWalk {
 public:
  // `offset`: that of row 0.
  RowWalk(std::span<const Dimension> dimensions, int64_t row, int64_t offset)
      : outer_(dimensions.first(dimensions.size() - 1)), offset_(offset) {
    // Divisions take long, so this is done once.
    for (size_t d = outer_.size(); d-- > 0; row /= outer_[d].size) {
      index_[d] = row % outer_[d].size;
      offset_ += index_[d] * outer_[d].stride;
    }
  }
  int64_t offset() const { return offset_; }
  int64_t index(size_t dimension) const { return index_[dimension]; }
  // `rows` do not go beyond the end of the innermost of these dimensions.
  void advance(int64_t rows) {
    for (size_t d = outer_.size(); d-- > 0; rows = 1) {
      offset_ += rows * outer_[d].stride;
      if ((index_[d] += rows) < outer_[d].size) return;
      offset_ -= outer_[d].size * outer_[d].stride;
      index_[d] = 0;
    }
  }

 private:
  std::span<const Dimension> outer_;
  int64_t index_[kMaxRank];
  int64_t offset_;
};

}  // namespace

StridedView::StridedView(ShapeDtype result, const ElementSource& source)
    : width_(static_cast<int64_t>(byte_width(result.dtype()))) {
  for (size_t i = 0; i < result.rank(); ++i) {
    const int64_t size = result.shape()[i], stride = source.strides[i];
    if (size == 1) continue;
    // Merges neighbouring dimensions that are walked as one.
    if (!dimensions_.empty() && dimensions_.back().stride == size * stride) {
      dimensions_.back() = {dimensions_.back().size * size, stride};
    } else {
      dimensions_.push_back({size, stride});
    }
  }
  if (dimensions_.empty()) dimensions_.push_back({1, 1});
  take_spaced_ = find_take_spaced(width_);
}

bool StridedView::is_worth_loading() const {
  const Dimension& last = dimensions_.back();
  return (last.size >= kLeastRun && std::abs(last.stride) <= kMostStride) || is_transposed();
}

bool StridedView::is_transposed() const {
  if (dimensions_.size() < 2) return false;
  const Dimension &row = dimensions_[dimensions_.size() - 2], &last = dimensions_.back();
  if (row.stride != 1 || last.stride <= kMostStride) return false;
  int64_t nbytes = width_;
  for (const Dimension& dimension : dimensions_) nbytes *= dimension.size;
  const int64_t row_bytes = last.size * width_;
  const bool is_faster_alone = nbytes >= kBytesPastCaches && row_bytes % kCacheLine == 0 &&
                               last.stride * width_ > kMostBytesApart;
  return nbytes >= kLeastTransposedBytes && !is_faster_alone &&
         row_bytes * transposed_tile(width_) <= kMostTransposedBytes;
}

void StridedView::load_transposed(const void* source, int64_t first, int64_t count,
                                  void* target) const {
  const int64_t rows = dimensions_[dimensions_.size() - 2].size;
  const Dimension& last = dimensions_.back();
  const auto* const from = static_cast<const std::byte*>(source);
  auto* to = static_cast<std::byte*>(target);
  while (count > 0) {
    const int64_t left = rows - first / last.size % rows;  // until the next matrix
    const int64_t part = std::min(count / last.size, left);
    copy_transposed(static_cast<size_t>(width_), from + place_of(first) * width_,
                    last.stride * width_, last.size, to, last.size * width_, part);
    first += part * last.size;
    count -= part * last.size;
    to += part * last.size * width_;
  }
}

void StridedView::load(const void* source, int64_t first, int64_t count, void* target) const {
  const Dimension& last = dimensions_.back();
  if (is_transposed() && first % last.size == 0 && count % last.size == 0)
    return load_transposed(source, first, count, target);
  const size_t num_outer = dimensions_.size() - 1;
  RowWalk<Dimension> walk(dimensions_, first / last.size, 0);
  int64_t at = first % last.size;
  visit_width(width_, [&]<class T>(T) {
    auto* to = static_cast<T*>(target);
    while (count > 0) {
      // A part of a row, or the whole rows that follow each other.
      const Dimension run = {std::min(count, last.size - at), last.stride};
      Dimension rows = {1, 0};
      if (run.size == last.size && num_outer > 0) {
        const Dimension& outer = dimensions_[num_outer - 1];
        rows = {std::min(count / last.size, outer.size - walk.index(num_outer - 1)), outer.stride};
      }
      load_rows(static_cast<const T*>(source) + walk.offset() + at * last.stride, rows, run, to);
      to += rows.size * run.size;
      count -= rows.size * run.size;
      at = 0;
      walk.advance(rows.size);
    }
  });
}

template <class T>
void StridedView::load_rows(const T* source, const Dimension& rows, const Dimension& run,
                            T* target) const {
  if (run.stride == 0 && rows.stride == 1) {
    return repeat_elements(target, source, sizeof(T), rows.size, run.size);
  }
  load_row(source, run, target);
  if (rows.stride == 0) return repeat_row(target, run.size, rows.size * run.size);
  for (int64_t row = 1; row < rows.size; ++row) {
    load_row(source + row * rows.stride, run, target + row * run.size);
  }
}

template <class T>
void StridedView::load_row(const T* source, const Dimension& run, T* target) const {
  if (run.size == 1) {
    *target = *source;
  } else if (run.stride == 1) {
    load_dense(source, run.size, target);
  } else if (run.stride == 0) {
    fill_elements(target, source, sizeof(T), run.size);
  } else if (run.stride == -1) {
    load_reversed(source, run.size, target);
  } else {
    take_spaced_(source, run.stride, run.size, target);
  }
}

int64_t StridedView::place_of(int64_t element) const {
  int64_t place = 0;
  for (size_t d = dimensions_.size() - 1; d > 0; element /= dimensions_[d--].size) {
    place += element % dimensions_[d].size * dimensions_[d].stride;
  }
  return place + element * dimensions_[0].stride;
}

std::optional<int64_t> StridedView::stride_of_runs(int64_t size) const {
  const Dimension& last = dimensions_.back();
  // Dimensions of one element are not among them.
  if (size == 1) return dimensions_.size() == 1 ? std::optional(last.stride) : std::nullopt;
  if (last.stride != 1 || dimensions_.size() > 2) return std::nullopt;
  if (dimensions_.size() == 1) return last.size % size == 0 ? std::optional(size) : std::nullopt;
  return last.size == size ? std::optional(dimensions_[0].stride) : std::nullopt;
}

int64_t Joined::run_size(ShapeDtype operand, int64_t dimension) {
  int64_t size = 1;
  for (const int64_t each : operand.shape().subspan(static_cast<size_t>(dimension))) size *= each;
  return size;
}

Joined::Joined(ShapeDtype result, int64_t dimension, std::span<const Operand> operands)
    : width_(static_cast<int64_t>(byte_width(result.dtype()))) {
  for (const Operand& operand : operands) {
    runs_.push_back({run_size(operand.type, dimension), operand.run_stride});
    all_ += runs_.back().size;
  }
}

bool Joined::is_worth_loading() const { return all_ >= kLeastRun * std::ssize(runs_); }

void Joined::load(const std::byte* const* sources, int64_t first, int64_t count,
                  void* target) const {
  visit_width(width_, [&]<class T>(T) {
    auto* to = static_cast<T*>(target);
    int64_t row = first / all_, at = first % all_;
    for (size_t i = 0; count > 0; ++i) {
      if (i == runs_.size()) {
        i = 0;
        ++row;
      }
      if (at >= runs_[i].size) {
        at -= runs_[i].size;
        continue;
      }
      const int64_t size = std::min(count, runs_[i].size - at);
      load_dense(reinterpret_cast<const T*>(sources[i]) + row * runs_[i].stride + at, size, to);
      to += size;
      count -= size;
      at = 0;
    }
  });
}

std::optional<Padded> Padded::of(ShapeDtype operand, ShapeDtype result,
                                 const PaddingConfig& config) {
  Padded padded;
  padded.width_ = static_cast<int64_t>(byte_width(result.dtype()));
  const std::vector<int64_t> strides = dense_strides(operand.shape());
  for (size_t i = 0; i < config.size(); ++i) {
    const int64_t size = result.shape()[i], inside = operand.shape()[i], low = config[i].low;
    if (config[i].interior != 0 && inside > 1) return std::nullopt;
    padded.first_ -= low * strides[i];
    const Dimension next = {size, std::clamp<int64_t>(low, 0, size),
                            std::clamp<int64_t>(low + inside, 0, size), strides[i]};
    std::vector<Dimension>& all = padded.dimensions_;
    // Rows without padding follow each other.
    const bool is_whole = next.begin == 0 && next.end == size && inside == size;
    if (is_whole && !all.empty()) {
      all.back() = {all.back().size * size, all.back().begin * size, all.back().end * size,
                    next.stride};
    } else {
      all.push_back(next);
    }
  }
  if (padded.dimensions_.empty()) padded.dimensions_.push_back({1, 0, 1, 1});
  return padded;
}

bool Padded::is_worth_loading() const { return dimensions_.back().size >= kLeastRun; }

void Padded::load(const void* operand, const void* padding, int64_t first, int64_t count,
                  void* target) const {
  const Dimension& last = dimensions_.back();
  const size_t num_outer = dimensions_.size() - 1;
  RowWalk<Dimension> walk(dimensions_, first / last.size, first_);
  int64_t at = first % last.size;
  const auto is_inside = [&] {
    for (size_t d = 0; d < num_outer; ++d) {
      if (!dimensions_[d].has(walk.index(d))) return false;
    }
    return true;
  };
  const auto* from = static_cast<const std::byte*>(operand);
  auto* to = static_cast<std::byte*>(target);
  for (; count > 0; at = 0, walk.advance(1)) {
    const int64_t end = std::min(last.size, at + count);
    count -= end - at;
    // The parts of the row before, of and after the operand.
    const bool has_any = is_inside();
    const int64_t begin_inside = has_any ? std::clamp(last.begin, at, end) : end;
    const int64_t end_inside = has_any ? std::clamp(last.end, begin_inside, end) : end;
    const auto width = static_cast<size_t>(width_);
    const int64_t before = begin_inside - at, inside = end_inside - begin_inside;
    if (before > 0) fill_elements(to, padding, width, before);
    to += before * width_;
    if (inside > 0) {
      copy_bytes(from + (walk.offset() + begin_inside * last.stride) * width_, to,
                 static_cast<size_t>(inside * width_));
    }
    to += inside * width_;
    if (end > end_inside) fill_elements(to, padding, width, end - end_inside);
    to += (end - end_inside) * width_;
  }
}

namespace {

template <class T>
void count_up(int32_t first, int64_t count, void* target) {
  auto* to = static_cast<T*>(target);
  for (int32_t i = 0; i < count; ++i) {
    const int32_t number = first + i;
    to[i] = static_cast<T>(number);
  }
}

// Null for other dtypes.
Counting::CountUp find_count_up(DType dtype) {
  switch (dtype) {
    case DType::kInt32:
    case DType::kUInt32:
      return best_loop<count_up<int32_t>>();
    case DType::kInt64:
    case DType::kUInt64:
      return best_loop<count_up<int64_t>>();
    case DType::kFloat32:
      return best_loop<count_up<float>>();
    case DType::kFloat64:
      return best_loop<count_up<double>>();
    default:
      return nullptr;
  }
}

}  // namespace

Counting::Counting(ShapeDtype result, int64_t dimension)
    : convert_(make_conversion(DType::kInt64, result.dtype())) {
  const auto shape = result.shape();
  for (size_t i = static_cast<size_t>(dimension); i < shape.size(); ++i) {
    (static_cast<int64_t>(i) == dimension ? size_ : inner_) *= shape[i];
  }
  if (size_ <= std::numeric_limits<int32_t>::max()) count_up_ = find_count_up(result.dtype());
}

void Counting::load(int64_t first, int64_t count, void* target) const {
  const size_t width = convert_.target_width;
  auto* to = static_cast<std::byte*>(target);
  alignas(16) std::byte numbers[kBlock * kMaxComputeWidth];
  int64_t value = first / inner_ % size_, repeated = first % inner_;
  while (count > 0) {
    int64_t run = 0;  // elements
    if (inner_ == 1) {
      run = std::min(count, size_ - value);
      load_numbers(value, run, to);
      value += run;
    } else if (repeated == 0 && count >= inner_) {
      const int64_t values = std::min({count / inner_, size_ - value, kBlock});
      load_numbers(value, values, numbers);
      repeat_elements(to, numbers, width, values, inner_);
      run = values * inner_;
      value += values;
    } else {
      run = std::min(count, inner_ - repeated);
      load_numbers(value, 1, numbers);
      fill_elements(to, numbers, width, run);
      repeated += run;
      if (repeated == inner_) repeated = 0, ++value;
    }
    if (value == size_) value = 0;
    to += static_cast<size_t>(run) * width;
    count -= run;
  }
}

void Counting::load_numbers(int64_t first, int64_t count, std::byte* target) const {
  if (count_up_) return count_up_(static_cast<int32_t>(first), count, target);
  int64_t numbers[kBlock];
  for (int64_t start = 0; start < count; start += kBlock) {
    const int64_t size = std::min(kBlock, count - start);
    std::iota(numbers, numbers + size, first + start);
    convert_.run(numbers, target + static_cast<size_t>(start) * convert_.target_width, size);
  }
}

}  // namespace farcall::native
