// Storage: the memory of an array, on the host or on a device, reference-counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <farcall/core/device_buffer.h>
#include <farcall/core/export.h>
#include <farcall/core/references.h>

namespace farcall {

// The alignment that handlers rely on. All memory from allocate() has it.
inline constexpr size_t kAlignment = 64;

inline bool is_aligned(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % kAlignment == 0;
}

// A counted reference to a block of bytes, allocated by farcall or adopted. Copies share the block;
// the last reference frees it. The count is thread-safe; the caller must synchronize access to the
// bytes.
class FARCALL_API Storage {
 public:
  Storage() = default;
  // `nbytes` uninitialized bytes, aligned to kAlignment. Raises RESOURCE_EXHAUSTED.
  static Storage allocate(size_t nbytes);
  // The same, with a copy of the bytes at `data`.
  static Storage copy_of(const void* data, size_t nbytes);
  // Foreign memory. `release(context)` is called when the last reference is dropped, on the thread
  // that drops it; null for memory that outlives every use. `data` need not be aligned.
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

  // Null for device memory.
  void* data() const { return block_ ? block_->data : nullptr; }
  // Null for host memory.
  const DeviceBuffer* buffer() const { return block_ ? block_->buffer : nullptr; }
  bool is_same_memory(const Storage& other) const {
    return block_ == other.block_ || (data() && data() == other.data());
  }
  size_t nbytes() const { return block_ ? block_->nbytes : 0; }
  // A copy of host memory.
  Storage copy() const { return copy_of(data(), nbytes()); }
  explicit operator bool() const { return block_ != nullptr; }
  // No other reference exists, so the bytes may be overwritten.
  bool is_unique() const {
    return block_ && block_->count.load(std::memory_order_acquire) == 1 &&
           block_->serial_count.load(std::memory_order_relaxed) == 0 &&
           !block_->is_exported.load(std::memory_order_relaxed);
  }
  // Other libraries (numpy, DLPack) see the bytes from now on: is_unique() stays false.
  void mark_exported() const {
    if (block_) block_->is_exported.store(true, std::memory_order_relaxed);
  }
  // Allocated by farcall or by a device: the bytes may be written once unique. Adopted host memory
  // is never written.
  bool is_owned() const { return block_ && (block_->allocation || block_->buffer); }

 private:
  friend class SerialReference;
  struct Block {
    std::atomic<uint32_t> count{1};
    std::atomic<uint32_t> serial_count{0};
    std::atomic<bool> is_exported{false};
    bool is_dropped = false;  // only SerialReferences are left
    void* data = nullptr;
    size_t nbytes = 0;
    void* allocation =
        nullptr;  // from malloc, with this Block at its start, or from the pool; null if adopted
    const DeviceBuffer* buffer = nullptr;
    void (*release)(void*) = nullptr;
    void* context = nullptr;
  };
  struct OnHost;

  explicit Storage(Block* block) : block_(block) {}
  void retain() const {
    if (block_) block_->count.fetch_add(1, std::memory_order_relaxed);
  }
  void release() {
    if (block_ && detail::drop_reference(block_->count)) destroy(block_);
  }
  static void destroy(Block* block);

  Block* block_ = nullptr;
};

// A reference that costs no atomic operation. One lock of the process, such as that of an
// interpreter, must be held when any SerialReference is made or dropped, and when the last Storage
// of a block with SerialReferences is dropped.
class FARCALL_API SerialReference {
 public:
  explicit SerialReference(const Storage& storage) : block_(storage.block_) {
    if (block_) set_count(count() + 1);
  }
  ~SerialReference() {
    if (!block_) return;
    set_count(count() - 1);
    if (block_->is_dropped) [[unlikely]]
      destroy_if_last(block_);
  }
  SerialReference(const SerialReference&) = delete;
  SerialReference& operator=(const SerialReference&) = delete;

 private:
  uint32_t count() const { return block_->serial_count.load(std::memory_order_relaxed); }
  void set_count(uint32_t count) { block_->serial_count.store(count, std::memory_order_relaxed); }
  static void destroy_if_last(Storage::Block* block);

  Storage::Block* block_;
};

}  // namespace farcall
