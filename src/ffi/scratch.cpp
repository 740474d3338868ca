// Scratch memory: from the planned block while it lasts, then from the heap. A heap block begins
// with a link, so that nothing is allocated beside it.
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

uintptr_t round_up(uintptr_t address, size_t alignment) {
  return (address + alignment - 1) & ~(alignment - 1);
}

void raise_to(std::atomic<size_t>& peak, size_t value) {
  size_t seen = peak.load(std::memory_order_relaxed);
  while (seen < value && !peak.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

void* Scratch::allocate(size_t size, size_t alignment) {
  alignment = std::max(alignment, kAlignment);
  const std::lock_guard lock(mutex_);
  void* data = allocate_planned(size, alignment);
  if (data == nullptr) data = allocate_on_heap(size, alignment);
  if (data == nullptr) return nullptr;
  nbytes_ += size;
  if (peak_ != nullptr) raise_to(*peak_, nbytes_);
  return data;
}

// Blocks are handed out one behind the other, and taken back in the opposite order.
void* Scratch::allocate_planned(size_t size, size_t alignment) {
  if (planned_size_ == 0) return nullptr;
  const auto base = reinterpret_cast<uintptr_t>(planned_);
  const size_t begin = round_up(base + top_, alignment) - base;
  if (size > planned_size_ || begin > planned_size_ - size) return nullptr;
  // An empty block has an address of its own all the same.
  const size_t end = round_up(begin + std::max<size_t>(size, 1), kAlignment);
  blocks_.push_back({begin, end, size, /*is_free=*/false});
  top_ = end;
  return planned_ + begin;
}

void* Scratch::allocate_on_heap(size_t size, size_t alignment) {
  size_t total;
  if (__builtin_add_overflow(size, alignment + sizeof(ScratchBlock), &total)) return nullptr;
  void* allocation = std::malloc(total);
  if (allocation == nullptr) return nullptr;
  const uintptr_t lowest = reinterpret_cast<uintptr_t>(allocation) + sizeof(ScratchBlock);
  auto* data = reinterpret_cast<ScratchBlock*>(round_up(lowest, alignment));
  ScratchBlock* block = data - 1;
  *block = {first_, nullptr, allocation, size};
  if (first_ != nullptr) first_->previous = block;
  first_ = block;
  return data;
}

bool Scratch::free(void* data) {
  const std::lock_guard lock(mutex_);
  for (PlannedBlock& block : blocks_) {
    if (block.is_free || planned_ + block.begin != data) continue;
    block.is_free = true;
    nbytes_ -= block.nbytes;
    while (!blocks_.empty() && blocks_.back().is_free) blocks_.pop_back();
    top_ = blocks_.empty() ? 0 : blocks_.back().end;
    return true;
  }
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
  auto count = static_cast<size_t>(std::ranges::count(blocks_, false, &PlannedBlock::is_free));
  blocks_.clear();
  top_ = 0;
  nbytes_ = 0;
  for (; first_ != nullptr; ++count) std::free(std::exchange(first_, first_->next)->allocation);
  return count;
}

}  // namespace farcall::runtime
