// Arrays in the memory of a plugin.
#pragma once

#include <atomic>
#include <memory>

#include <farcall/core/device_buffer.h>
#include <farcall/core/shape_dtype.h>

#include "pjrt/client.h"

namespace farcall::pjrt {

// Owns a plugin's buffer.
class BufferHandle {
 public:
  BufferHandle(const Plugin& plugin, CBuffer* buffer) : plugin_(plugin), buffer_(buffer) {}
  ~BufferHandle();
  BufferHandle(const BufferHandle&) = delete;
  BufferHandle& operator=(const BufferHandle&) = delete;

  const Plugin& plugin() const { return plugin_; }
  CBuffer* get() const { return buffer_; }

 private:
  const Plugin& plugin_;
  CBuffer* buffer_;
};
using BufferPtr = std::shared_ptr<const BufferHandle>;

class PjrtBuffer final : public DeviceBuffer {
 public:
  PjrtBuffer(const PjrtDevice& device, ShapeDtype type, BufferPtr handle, bool is_ready)
      : device_(device), type_(type), handle_(std::move(handle)), is_known_ready_(is_ready) {}

  const Device& device() const override { return device_; }
  bool is_ready() const override;
  void wait() const override;
  // On a CPU a view of the buffer, except for elements below eight bits: they are packed there, so
  // they are copied.
  Storage to_host() const override;
  // Null where DLPack does not know the device, and for elements below eight bits.
  void* address() const override;
  const BufferPtr& handle() const { return handle_; }

 private:
  const PjrtDevice& device_;
  ShapeDtype type_;
  BufferPtr handle_;
  mutable std::atomic<bool> is_known_ready_;
};

// On a CPU, shares owned and aligned host memory of elements that are not packed; else copies.
BufferPtr buffer_from_host(const PjrtDevice& device, ShapeDtype type, const Storage& host);

// In memory of another library on the device. The plugin releases `owner`.
BufferPtr buffer_from_library(const PjrtDevice& device, ShapeDtype type, void* data,
                              std::shared_ptr<const void> owner);

// `is_ready`: whether the elements are known to be computed.
Storage on_device(const PjrtDevice& device, ShapeDtype type, BufferPtr handle, bool is_ready);

}  // namespace farcall::pjrt
