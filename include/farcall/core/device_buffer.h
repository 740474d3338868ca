// DeviceBuffer: memory that the host does not read directly, or whose values are still computed.
#pragma once

#include <farcall/core/export.h>

namespace farcall {

class Device;
class Storage;

// Implemented by engines; a Storage holds it. All functions may be called from any thread.
class FARCALL_API DeviceBuffer {
 public:
  virtual ~DeviceBuffer();
  virtual const Device& device() const = 0;
  // Whether the values are there, so that to_host() does not wait.
  virtual bool is_ready() const = 0;
  // Raises the error of the program that computes the values.
  virtual void wait() const = 0;
  // The elements in the host's memory, dense and row-major: a copy, or a view that keeps this
  // buffer. Waits, and raises as wait() does.
  virtual Storage to_host() const = 0;
};

}  // namespace farcall
