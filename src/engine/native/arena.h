// Arena: assigns the intermediate values of a plan to offsets in one block of memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>

#include <farcall/core/sizes.h>
#include <farcall/core/storage.h>

namespace farcall::native {

// Allocates offsets at compile time; freed ranges are reused. Takes the best fit among free ranges,
// which keeps the block close to the largest total size of values that live at the same time.
class Arena {
 public:
  // Returns an offset that is a multiple of kAlignment.
  size_t allocate(size_t nbytes) {
    const size_t size = rounded(nbytes);
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second >= size && (best == free_.end() || it->second < best->second)) best = it;
    }
    if (best == free_.end()) return grow(size);
    const auto [offset, available] = *best;
    free_.erase(best);
    if (available > size) free_.emplace(offset + size, available - size);
    return offset;
  }

  void release(size_t offset, size_t nbytes) {
    auto it = free_.emplace(offset, rounded(nbytes)).first;
    if (const auto next = std::next(it);
        next != free_.end() && it->first + it->second == next->first) {
      it->second += next->second;
      free_.erase(next);
    }
    if (it != free_.begin()) {
      if (const auto previous = std::prev(it); previous->first + previous->second == it->first) {
        previous->second += it->second;
        free_.erase(it);
      }
    }
  }

  // Size of the whole block in bytes.
  size_t size() const { return size_; }

 private:
  static size_t rounded(size_t nbytes) {
    return std::max<size_t>(1, memory_sum(nbytes, kAlignment - 1) / kAlignment) * kAlignment;
  }

  size_t grow(size_t size) {
    // A free range at the end is extended and used.
    size_t offset = size_;
    if (!free_.empty()) {
      const auto last = std::prev(free_.end());
      if (last->first + last->second == size_) {
        offset = last->first;
        free_.erase(last);
      }
    }
    size_ = memory_sum(offset, size);
    return offset;
  }

  std::map<size_t, size_t> free_;  // offset to size; no two are adjacent
  size_t size_ = 0;
};

}  // namespace farcall::native
