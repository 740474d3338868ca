#include <farcall/core/memory_pool.h>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>  // its macros do nothing without the sanitizer
#else
#define ASAN_POISON_MEMORY_REGION(address, size) static_cast<void>(0)
#define ASAN_UNPOISON_MEMORY_REGION(address, size) static_cast<void>(0)
#endif

namespace farcall {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kHugePage = 2 * kMiB;

// ---- memory of the system

// Null if out of memory.
void* map(size_t size) {
  const size_t alignment = size >= kHugePage ? kHugePage : 0;
  void* const mapped =
      mmap(nullptr, size + alignment, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  if (alignment == 0) return mapped;
  const auto first = reinterpret_cast<uintptr_t>(mapped);
  const uintptr_t begin = (first + alignment - 1) / alignment * alignment;
  if (const size_t before = begin - first) munmap(mapped, before);
  auto* const block = reinterpret_cast<std::byte*>(begin);
  if (const size_t after = first + alignment - begin) munmap(block + size, after);
#ifdef MADV_HUGEPAGE
  // An optimization; failure is harmless.
  madvise(block, size, MADV_HUGEPAGE);
#endif
  return block;
}

struct Block {
  void* data;
  size_t size;
  uint64_t freed_at;  // number of blocks freed before
};

void unmap(const Block& block) {
  ASAN_UNPOISON_MEMORY_REGION(block.data, block.size);
  munmap(block.data, block.size);
}

// Block sizes: eight per power of two, so that similar sizes can share a block.
size_t block_size(size_t nbytes) {
  const size_t step = std::max<size_t>(std::bit_floor(nbytes) / 8, 1);
  return (nbytes + step - 1) / step * step;
}

size_t default_limit() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  constexpr size_t kMost = 512 * kMiB;
  if (pages <= 0 || page <= 0) return kMost;
  return std::min(static_cast<size_t>(pages) * static_cast<size_t>(page) / 8, kMost);
}

// ---- the pool

// One lock for all: filling a block of 1 MiB takes far longer than a lock. The lock also orders the
// last use of a block on one thread before the next use on another. System calls are made without
// it.
class MemoryPool {
 public:
  static MemoryPool& instance() {
    static auto* pool = new MemoryPool;  // storage may be freed while the process ends
    return *pool;
  }

  void* take(size_t nbytes) {
    if (nbytes > std::numeric_limits<size_t>::max() / 2) return nullptr;
    const size_t size = block_size(nbytes);
    std::vector<Block> evicted;
    void* data = take_free(size, evicted);
    std::ranges::for_each(evicted, unmap);
    if (!data) data = map(size);
    if (!data) {
      clear();
      data = map(size);
    }
    if (!data) {
      const std::lock_guard lock(mutex_);
      bytes_in_use_ -= size;
      return nullptr;
    }
    ASAN_UNPOISON_MEMORY_REGION(data, nbytes);
    ASAN_POISON_MEMORY_REGION(static_cast<std::byte*>(data) + nbytes, size - nbytes);
    return data;
  }

  void give(void* data, size_t nbytes) noexcept {
    Block block = {data, block_size(nbytes), 0};
    ASAN_POISON_MEMORY_REGION(data, block.size);
    std::vector<Block> evicted;
    try {
      const std::lock_guard lock(mutex_);
      bytes_in_use_ -= block.size;
      if (block.size > limit_) {
        evicted.push_back(block);
      } else {
        evict_to(limit_ - block.size, evicted);
        block.freed_at = ++num_freed_;
        free_.emplace(block.size, block);
        bytes_kept_ += block.size;
      }
    } catch (const std::bad_alloc&) {  // no memory even for the bookkeeping
      unmap(block);
    }
    std::ranges::for_each(evicted, unmap);
  }

  void set_limit(size_t limit) {
    std::vector<Block> evicted;
    {
      const std::lock_guard lock(mutex_);
      limit_ = limit;
      evict_to(limit, evicted);
    }
    std::ranges::for_each(evicted, unmap);
  }

  void clear() {
    std::vector<Block> evicted;
    {
      const std::lock_guard lock(mutex_);
      evict_to(0, evicted);
      peak_ = bytes_in_use_;
    }
    std::ranges::for_each(evicted, unmap);
  }

  MemoryPoolInfo info() {
    const std::lock_guard lock(mutex_);
    return {bytes_in_use_, peak_, bytes_kept_, limit_, hits_, misses_};
  }

 private:
  // Holding the lock across fork() leaves the child a consistent pool.
  MemoryPool() {
    pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                   [] { instance().mutex_.unlock(); });
  }

  // Null if no block of this size is free; then the caller must unmap the blocks in `evicted`.
  void* take_free(size_t size, std::vector<Block>& evicted) {
    const std::lock_guard lock(mutex_);
    const size_t in_use = bytes_in_use_ + size, peak = std::max(peak_, in_use);
    void* data = nullptr;
    if (const auto end = free_.upper_bound(size);
        end != free_.begin() && std::prev(end)->first == size) {
      data = std::prev(end)->second.data;  // freed last, so likely in the CPU cache
      free_.erase(std::prev(end));
      bytes_kept_ -= size;
      ++hits_;
    } else {
      // Kept blocks must not make the process larger than its peak so far.
      evict_to(std::max(peak, kSlack) - in_use, evicted);
      ++misses_;
    }
    bytes_in_use_ = in_use;
    peak_ = peak;
    return data;
  }

  // Moves the blocks that were freed first to `evicted` until at most `nbytes` are kept.
  void evict_to(size_t nbytes, std::vector<Block>& evicted) {
    while (bytes_kept_ > nbytes) {
      const auto oldest = std::ranges::min_element(
          free_, {}, [](const auto& each) { return each.second.freed_at; });
      evicted.push_back(oldest->second);
      bytes_kept_ -= oldest->first;
      free_.erase(oldest);
    }
  }

  // Lets programs with little memory alternate between blocks of several sizes.
  static constexpr size_t kSlack = 64 * kMiB;

  std::mutex mutex_;
  std::multimap<size_t, Block> free_;  // by size; within a size, in the order of freeing
  size_t bytes_in_use_ = 0, peak_ = 0, bytes_kept_ = 0, limit_ = default_limit();
  size_t hits_ = 0, misses_ = 0;
  uint64_t num_freed_ = 0;
};

}  // namespace

MemoryPoolInfo memory_pool_info() { return MemoryPool::instance().info(); }
size_t memory_pool_limit() { return memory_pool_info().limit; }
void set_memory_pool_limit(size_t nbytes) { MemoryPool::instance().set_limit(nbytes); }
void clear_memory_pool() { MemoryPool::instance().clear(); }

namespace detail {

void* take_block(size_t nbytes) { return MemoryPool::instance().take(nbytes); }
void give_block(void* block, size_t nbytes) noexcept { MemoryPool::instance().give(block, nbytes); }

}  // namespace detail
}  // namespace farcall
