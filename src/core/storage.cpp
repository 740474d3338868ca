#include <farcall/core/storage.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/free_blocks.h>
#include <farcall/core/memory_pool.h>

namespace farcall {

namespace {

[[noreturn]] void throw_no_memory(size_t nbytes) {
  throw Error(ErrorCode::kResourceExhausted,
              fmt::format("out of memory: cannot allocate {} bytes", nbytes));
}

}  // namespace

DeviceBuffer::~DeviceBuffer() = default;

void* DeviceBuffer::address() const { return nullptr; }

// Memory below detail::kPooledBytes: the block, what the alignment may take, and the bytes.
struct Storage::OnHost {
  static constexpr size_t kOwnBytes = sizeof(Block) + kAlignment;
  // Scalars and short vectors.
  static constexpr size_t kSmall = 64;
  using SmallBlocks = detail::FreeBlocks<kOwnBytes + kSmall>;

  static void* take(size_t nbytes) {
    return nbytes <= kSmall ? SmallBlocks::take() : detail::take_kept_block(kOwnBytes + nbytes);
  }
  static void give(void* allocation, size_t nbytes) {
    nbytes <= kSmall ? SmallBlocks::give(allocation)
                     : detail::give_kept_block(allocation, kOwnBytes + nbytes);
  }
};

Storage Storage::allocate(size_t nbytes) {
  if (nbytes >= detail::kPooledBytes) {
    auto block = std::make_unique<Block>();
    block->data = block->allocation = detail::take_block(nbytes);
    if (!block->data) throw_no_memory(nbytes);
    block->nbytes = nbytes;
    return Storage(block.release());
  }
  // malloc plus alignment by hand: unlike aligned_alloc, malloc serves small sizes from a
  // per-thread cache, which makes a result of a few floats three times cheaper.
  void* const allocation = OnHost::take(nbytes);
  if (!allocation) throw_no_memory(nbytes);
  const auto first = reinterpret_cast<uintptr_t>(allocation) + sizeof(Block);
  const auto data = (first + kAlignment - 1) / kAlignment * kAlignment;
  auto* block = new (allocation) Block;
  block->data = reinterpret_cast<void*>(data);
  block->nbytes = nbytes;
  block->allocation = allocation;
  return Storage(block);
}

Storage Storage::copy_of(const void* data, size_t nbytes) {
  Storage copy = allocate(nbytes);
  if (nbytes > 0) std::memcpy(copy.data(), data, nbytes);
  return copy;
}

Storage Storage::adopt(void* data, size_t nbytes, void (*release)(void*), void* context) {
  auto* block = new Block;
  block->data = data;
  block->nbytes = nbytes;
  block->release = release;
  block->context = context;
  return Storage(block);
}

Storage Storage::adopt(std::unique_ptr<const DeviceBuffer> buffer, size_t nbytes) {
  auto* block = new Block;
  block->nbytes = nbytes;
  block->buffer = buffer.release();
  return Storage(block);
}

void Storage::destroy(Block* block) {
  if (block->serial_count.load(std::memory_order_relaxed) != 0) {
    block->is_dropped = true;
    return;
  }
  if (block->allocation && block->nbytes >= detail::kPooledBytes) {
    detail::give_block(block->allocation, block->nbytes);
    delete block;
    return;
  }
  if (block->allocation) {
    void* allocation = block->allocation;
    const size_t nbytes = block->nbytes;
    block->~Block();
    return OnHost::give(allocation, nbytes);
  }
  if (block->release) block->release(block->context);
  delete block->buffer;
  delete block;
}

void SerialReference::destroy_if_last(Storage::Block* block) {
  if (block->serial_count.load(std::memory_order_relaxed) == 0) Storage::destroy(block);
}

}  // namespace farcall
