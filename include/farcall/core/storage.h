// Storage: the memory of an array, on the host or on a device, shared by count.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <farcall/core/device_buffer.h>
#include <farcall/core/export.h>

namespace farcall {

// What handlers rely on, and every allocation of ours has.
inline constexpr size_t kAlignment = 64;

inline bool is_aligned(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % kAlignment == 0;
}

// A counted reference to a block of bytes, ours or foreign. Copies share the block; the last one
// frees it. The count may be changed from any thread, the bytes need the caller's own order.
class FARCALL_API Storage {
 public:
  Storage() = default;
  // `nbytes` uninitialised bytes, aligned to kAlignment. Raises RESOURCE_EXHAUSTED.
  static Storage allocate(size_t nbytes);
  // Foreign memory: `release(context)` is called when the last reference goes, from whichever
  // thread that happens on; null for memory that outlives every use. `data` need not be aligned.
  static Storage adopt(void* data, size_t nbytes, void (*release)(void*), void* context);

  // Memory of a device. data() is null.
  static Storage adopt(std::unique_ptr<const DeviceBuffer> buffer, size_t nbytes);

  Storage(const Storage& other) : block_(other.block_) { retain(); }
  Storage(Storage&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Storage& operator=(Storage other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Storage() { release(); }

  // Null where the memory is not the host's.
  void* data() const { return block_ ? block_->data : nullptr; }
  // Null for memory of the host.
  const DeviceBuffer* buffer() const { return block_ ? block_->buffer : nullptr; }
  bool is_same_memory(const Storage& other) const {
    return block_ == other.block_ || (data() && data() == other.data());
  }
  size_t nbytes() const { return block_ ? block_->nbytes : 0; }
  explicit operator bool() const { return block_ != nullptr; }
  // No other reference exists, so that the bytes may be overwritten.
  bool is_unique() const {
    return block_ && block_->count.load(std::memory_order_acquire) == 1 &&
           !block_->is_exported.load(std::memory_order_relaxed);
  }
  // Others (numpy, DLPack) see the bytes from now on: is_unique() stays false.
  void mark_exported() const {
    if (block_) block_->is_exported.store(true, std::memory_order_relaxed);
  }
  // Allocated by us, or by a device: the bytes may be written once unique. Adopted memory of the
  // host is never written.
  bool is_owned() const { return block_ && (block_->allocation || block_->buffer); }

 private:
  struct Block {
    std::atomic<uint32_t> count{1};
    std::atomic<bool> is_exported{false};
    void* data = nullptr;
    size_t nbytes = 0;
    void* allocation =
        nullptr;  // what malloc gave, with the block itself at its start; null when adopted
    const DeviceBuffer* buffer = nullptr;
    void (*release)(void*) = nullptr;
    void* context = nullptr;
  };

  explicit Storage(Block* block) : block_(block) {}
  void retain() const {
    if (block_) block_->count.fetch_add(1, std::memory_order_relaxed);
  }
  void release() {
    if (block_ && block_->count.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(block_);
  }
  static void destroy(Block* block);

  Block* block_ = nullptr;
};

}  // namespace farcall
