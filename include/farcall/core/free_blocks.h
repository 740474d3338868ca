// FreeBlocks: memory of objects that short calls make and free again and again.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

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
  static constexpr size_t kMostBlocks = kBytes <= 2048 ? 16 : 4;
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

// Calls `kept` with the blocks for this size, or `others` if there are none.
template <class Kept, class Others>
auto with_blocks_of(size_t nbytes, const Kept& kept, const Others& others) {
  if (nbytes <= 1000 || nbytes > 16384) return others();  // malloc() keeps small ones itself
  if (nbytes <= 1024) return kept(FreeBlocks<1024>());
  if (nbytes <= 2048) return kept(FreeBlocks<2048>());
  if (nbytes <= 4096) return kept(FreeBlocks<4096>());
  if (nbytes <= 8192) return kept(FreeBlocks<8192>());
  return kept(FreeBlocks<16384>());
}

// malloc() and free() of blocks of any size, of which each thread keeps some of 1 KiB to 16 KiB. At
// requests of such sizes the C library merges all small blocks that are free, which takes longer
// than compiling a small program if there are many. give_kept_block() takes the size that
// take_kept_block() took.
inline void* take_kept_block(size_t nbytes) noexcept {
  return with_blocks_of(
      nbytes, [&]<class Blocks>(Blocks) { return Blocks::take(); },
      [&] { return std::malloc(nbytes); });
}
inline void give_kept_block(void* block, size_t nbytes) noexcept {
  with_blocks_of(
      nbytes, [&]<class Blocks>(Blocks) { Blocks::give(block); }, [&] { std::free(block); });
}

}  // namespace farcall::detail

namespace farcall {

// The allocator of vectors that live as briefly as a program that a pass changes.
template <class T>
struct KeptMemory {
  using value_type = T;

  KeptMemory() = default;
  template <class U>
  KeptMemory(const KeptMemory<U>&) noexcept {}

  T* allocate(size_t count) {
    void* const block = detail::take_kept_block(count * sizeof(T));
    if (!block) throw std::bad_alloc();
    return static_cast<T*>(block);
  }
  void deallocate(T* block, size_t count) noexcept {
    detail::give_kept_block(block, count * sizeof(T));
  }
  friend bool operator==(const KeptMemory&, const KeptMemory&) { return true; }
};

}  // namespace farcall

#undef FARCALL_KEEPS_FREE_BLOCKS
