// Scratch memory: each block begins with a link, so that nothing is allocated beside it.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include <farcall/core/storage.h>
#include <farcall/ffi/call_context.h>

namespace farcall::runtime {

// Lies right before the bytes that the handler sees.
struct ScratchBlock {
  ScratchBlock* next;
  ScratchBlock* previous;
  void* allocation;
  size_t nbytes;
};

namespace {

void* data_of(ScratchBlock* block) { return block + 1; }

void raise_to(std::atomic<size_t>& peak, size_t value) {
  size_t seen = peak.load(std::memory_order_relaxed);
  while (seen < value && !peak.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

void* Scratch::allocate(size_t size, size_t alignment) {
  alignment = std::max(alignment, kAlignment);
  size_t total;
  if (__builtin_add_overflow(size, alignment + sizeof(ScratchBlock), &total)) return nullptr;
  void* allocation = std::malloc(total);
  if (allocation == nullptr) return nullptr;
  const uintptr_t lowest = reinterpret_cast<uintptr_t>(allocation) + sizeof(ScratchBlock);
  auto* data = reinterpret_cast<ScratchBlock*>((lowest + alignment - 1) & ~(alignment - 1));
  ScratchBlock* block = data - 1;
  const std::lock_guard lock(mutex_);
  *block = {first_, nullptr, allocation, size};
  if (first_ != nullptr) first_->previous = block;
  first_ = block;
  nbytes_ += size;
  if (peak_ != nullptr) raise_to(*peak_, nbytes_);
  return data;
}

bool Scratch::free(void* data) {
  const std::lock_guard lock(mutex_);
  ScratchBlock* block = first_;
  while (block != nullptr && data_of(block) != data) block = block->next;
  if (block == nullptr) return false;
  (block->previous ? block->previous->next : first_) = block->next;
  if (block->next != nullptr) block->next->previous = block->previous;
  nbytes_ -= block->nbytes;
  std::free(block->allocation);
  return true;
}

size_t Scratch::clear() {
  const std::lock_guard lock(mutex_);
  size_t count = 0;
  nbytes_ = 0;
  for (; first_ != nullptr; ++count) std::free(std::exchange(first_, first_->next)->allocation);
  return count;
}

}  // namespace farcall::runtime
