// Scratch memory: from the planned block while it lasts, then from the heap. Each heap block begins
// with its own list node.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <farcall/core/storage.h>
#include <farcall/ffi/call_context.h>

#include "ffi/checked_call.h"

namespace farcall::runtime {

// Directly before the guard and the bytes that the handler sees.
struct ScratchBlock {
  ScratchBlock* next;
  ScratchBlock* previous;
  void* allocation;
  size_t nbytes;
};

namespace {

uintptr_t round_up(uintptr_t address, size_t alignment) {
  return (address + alignment - 1) & ~(alignment - 1);
}

void raise_to(std::atomic<size_t>& peak, size_t value) {
  size_t seen = peak.load(std::memory_order_relaxed);
  while (seen < value && !peak.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

// After the guard, if there is one.
std::byte* Scratch::data_of(ScratchBlock* block) const {
  return reinterpret_cast<std::byte*>(block + 1) + (is_guarded_ ? guard_bytes(block->nbytes) : 0);
}

void Scratch::inspect(ScratchBlock* block) {
  if (is_guarded_ && !damage_) damage_ = find_damage(data_of(block), block->nbytes);
}

std::optional<GuardDamage> Scratch::take_damage() {
  const std::lock_guard lock(mutex_);
  for (ScratchBlock* block = first_; block != nullptr; block = block->next) inspect(block);
  return std::exchange(damage_, std::nullopt);
}

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

// A stack: blocks are allocated in order, and space is reclaimed from the end.
void* Scratch::allocate_planned(size_t size, size_t alignment) {
  if (planned_size_ == 0 || is_guarded_) return nullptr;
  const auto base = reinterpret_cast<uintptr_t>(planned_);
  const size_t begin = round_up(base + top_, alignment) - base;
  if (size > planned_size_ || begin > planned_size_ - size) return nullptr;
  // An empty block takes space too, so that its address is unique.
  const size_t end = round_up(begin + std::max<size_t>(size, 1), kAlignment);
  blocks_.push_back({begin, end, size, /*is_free=*/false});
  top_ = end;
  return planned_ + begin;
}

void* Scratch::allocate_on_heap(size_t size, size_t alignment) {
  size_t total;
  const size_t guard = is_guarded_ ? guard_bytes(size) : 0;
  const size_t besides = alignment + sizeof(ScratchBlock) + 2 * guard;
  if (__builtin_add_overflow(size, besides, &total)) return nullptr;
  void* allocation = std::malloc(total);
  if (allocation == nullptr) return nullptr;
  const uintptr_t lowest = reinterpret_cast<uintptr_t>(allocation) + sizeof(ScratchBlock) + guard;
  auto* data = reinterpret_cast<std::byte*>(round_up(lowest, alignment));
  ScratchBlock* block = reinterpret_cast<ScratchBlock*>(data - guard) - 1;
  *block = {first_, nullptr, allocation, size};
  if (first_ != nullptr) first_->previous = block;
  first_ = block;
  if (is_guarded_) {
    fill_guards(data, size);
    std::memset(data, 0xff, size);  // nan in every float
  }
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
  inspect(block);
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
  damage_.reset();
  for (; first_ != nullptr; ++count) std::free(std::exchange(first_, first_->next)->allocation);
  return count;
}

}  // namespace farcall::runtime
