// The parts of a kernel's scratch memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include <farcall/core/sizes.h>
#include <farcall/core/storage.h>

namespace farcall::native {

class ScratchParts {
 public:
  // Where the next `count` elements go, in bytes from the beginning.
  size_t take(int64_t count, size_t width) {
    const size_t offset = bytes_;
    const size_t nbytes = memory_product(static_cast<size_t>(count), width);
    bytes_ = memory_sum(bytes_, memory_sum(nbytes, kAlignment - 1) / kAlignment * kAlignment);
    return offset;
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

}  // namespace farcall::native
