#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include <farcall/core/sizes.h>
#include <farcall/core/storage.h>

namespace farcall::native {

// Memory for one thread: on the stack if small.
template <class T, size_t kStackBytes = 32768>
class Buffer {
 public:
  explicit Buffer(int64_t size) {
    if (static_cast<size_t>(size) <= std::size(few_)) return;
    storage_ = Storage::allocate(memory_product(static_cast<size_t>(size), sizeof(T)));
  }
  T* data() { return storage_ ? static_cast<T*>(storage_.data()) : few_; }

 private:
  alignas(kAlignment) T few_[kStackBytes / sizeof(T)];
  Storage storage_;
};

}  // namespace farcall::native
