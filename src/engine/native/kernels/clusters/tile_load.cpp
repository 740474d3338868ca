#include "engine/native/kernels/clusters/tile_load.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/vector/prefetch.h"
#include "engine/native/kernels/width.h"

namespace farcall::native {
namespace {

// Shorter runs are faster as a separate copy of the operand.
constexpr int64_t kLeastRun = 16;
// Larger strides use too little of each cache line.
constexpr int64_t kMostStride = 8;

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
void load_run(const T* source, int64_t stride, int64_t count, T* target) {
  if (stride == 1) {
    std::memcpy(target, source, static_cast<size_t>(count) * sizeof(T));
  } else if (stride == -1) {
    load_reversed(source, count, target);
  } else {
    for (int64_t i = 0; i < count; ++i) target[i] = source[i * stride];
  }
}

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
}

bool StridedView::is_worth_loading() const {
  const Dimension& last = dimensions_.back();
  return last.size >= kLeastRun && std::abs(last.stride) <= kMostStride;
}

void StridedView::load(const void* source, int64_t first, int64_t count, void* target) const {
  visit_width(width_, [&]<class T>(T) {
    auto* to = static_cast<T*>(target);
    const Dimension& last = dimensions_.back();
    int64_t at = first % last.size;
    for (int64_t row = first / last.size; count > 0; ++row, at = 0) {
      const T* from = static_cast<const T*>(source) + at * last.stride;
      int64_t rest = row;
      for (size_t d = dimensions_.size() - 1; d-- > 0;) {
        from += rest % dimensions_[d].size * dimensions_[d].stride;
        rest /= dimensions_[d].size;
      }
      const int64_t run = std::min(count, last.size - at);
      load_run(from, last.stride, run, to);
      to += run;
      count -= run;
    }
  });
}

Joined::Joined(ShapeDtype result, int64_t dimension, std::span<const ShapeDtype> operands)
    : width_(static_cast<int64_t>(byte_width(result.dtype()))) {
  int64_t inner = 1;
  for (const int64_t size : result.shape().subspan(static_cast<size_t>(dimension) + 1)) {
    inner *= size;
  }
  for (const ShapeDtype& operand : operands) {
    runs_.push_back(operand.shape()[static_cast<size_t>(dimension)] * inner);
    all_ += runs_.back();
  }
}

bool Joined::is_worth_loading() const {
  return std::ranges::all_of(runs_, [](int64_t run) { return run >= kLeastRun; });
}

void Joined::load(const std::byte* const* sources, int64_t first, int64_t count,
                  void* target) const {
  auto* to = static_cast<std::byte*>(target);
  int64_t row = first / all_, at = first % all_;
  for (size_t i = 0; count > 0; ++i) {
    if (i == runs_.size()) {
      i = 0;
      ++row;
    }
    if (at >= runs_[i]) {
      at -= runs_[i];
      continue;
    }
    const int64_t size = std::min(count, runs_[i] - at);
    std::memcpy(to, sources[i] + (row * runs_[i] + at) * width_,
                static_cast<size_t>(size * width_));
    to += size * width_;
    count -= size;
    at = 0;
  }
}

Counting::Counting(ShapeDtype result, int64_t dimension)
    : convert_(make_conversion(DType::kInt64, result.dtype())) {
  const auto shape = result.shape();
  for (size_t i = static_cast<size_t>(dimension); i < shape.size(); ++i) {
    (static_cast<int64_t>(i) == dimension ? size_ : inner_) *= shape[i];
  }
}

void Counting::load(int64_t first, int64_t count, void* target) const {
  auto* to = static_cast<std::byte*>(target);
  int64_t numbers[kBlock];
  int64_t value = first / inner_ % size_, repeated = first % inner_;
  for (int64_t start = 0; start < count; start += kBlock) {
    const int64_t block = std::min(kBlock, count - start);
    for (int64_t i = 0; i < block; ++i) {
      numbers[i] = value;
      if (++repeated < inner_) continue;
      repeated = 0;
      if (++value == size_) value = 0;
    }
    convert_.run(numbers, to, block);
    to += static_cast<size_t>(block) * convert_.target_width;
  }
}

}  // namespace farcall::native
