// FreeBlocks: memory of objects that short calls make and free again and again.
#pragma once

#include <cstddef>
#include <cstdlib>

// Under the address sanitizer none are kept, so that it finds uses of freed blocks.
#if defined(__SANITIZE_ADDRESS__)
#define FARCALL_KEEPS_FREE_BLOCKS 0
#elif defined(__has_feature)
#define FARCALL_KEEPS_FREE_BLOCKS (!__has_feature(address_sanitizer))
#else
#define FARCALL_KEEPS_FREE_BLOCKS 1
#endif

namespace farcall::detail {

// malloc() and free() of blocks of one size, in a fifth of their time: each thread keeps a few
// freed blocks for its next requests. A block may be freed on another thread.
template <size_t kBytes>
class FreeBlocks {
 public:
  // Uninitialized memory, aligned like that of malloc(). Null if out of memory.
  static void* take() noexcept {
    Kept& kept = kept_;
    return kept.count > 0 ? kept.blocks[--kept.count] : std::malloc(kBytes);
  }
  static void give(void* block) noexcept {
    Kept& kept = kept_;
    if (kept.count < kept.capacity) [[likely]] {
      kept.blocks[kept.count++] = block;
    } else {
      give_to_full(kept, block);
    }
  }

 private:
#if FARCALL_KEEPS_FREE_BLOCKS
  static constexpr size_t kMostBlocks = 16;
#else
  static constexpr size_t kMostBlocks = 0;
#endif

  // Without a destructor, which would make each access slower: AtEnd frees the blocks.
  struct Kept {
    void* blocks[16];
    size_t count;
    size_t capacity;  // 0 before the first give() and after the end of the thread
    bool has_ended;
  };
  struct AtEnd {
    ~AtEnd() {
      Kept& kept = kept_;
      kept.has_ended = true;
      kept.capacity = 0;
      while (kept.count > 0) std::free(kept.blocks[--kept.count]);
    }
  };

  [[gnu::noinline]] static void give_to_full(Kept& kept, void* block) noexcept {
    if (kept.capacity == kMostBlocks || kept.has_ended) return std::free(block);
    static thread_local AtEnd at_end;
    (void)at_end;
    kept.capacity = kMostBlocks;
    kept.blocks[kept.count++] = block;
  }

  static inline thread_local constinit Kept kept_{};
};

}  // namespace farcall::detail

#undef FARCALL_KEEPS_FREE_BLOCKS
