// DeviceBuffer: memory that the host cannot read directly, or whose values are still being
// computed.
#pragma once

#include <farcall/core/export.h>

namespace farcall {

class Device;
class Storage;

// Implemented by engines, held by a Storage. Thread-safe.
class FARCALL_API DeviceBuffer {
 public:
  virtual ~DeviceBuffer();
  virtual const Device& device() const = 0;
  // Whether the values are computed, so that to_host() does not block.
  virtual bool is_ready() const = 0;
  // Blocks until the values are computed. Raises the error of the program that computes them.
  virtual void wait() const = 0;
  // The elements in host memory, dense and row-major: a copy, or a view that keeps this buffer
  // alive. Blocks, and raises as wait() does.
  virtual Storage to_host() const = 0;
  // The address of the dense, row-major elements, for other libraries on the device; valid while
  // this buffer lives. Null if they cannot read it. Blocks, and raises as wait() does.
  virtual void* address() const;
};

}  // namespace farcall
