// Divides a kernel's scratch memory into parts.
#pragma once

#include <cstddef>
#include <cstdint>

#include <farcall/core/sizes.h>
#include <farcall/core/storage.h>

namespace farcall::native {

class ScratchParts {
 public:
  // Returns the offset of the next `count` elements, in bytes.
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
