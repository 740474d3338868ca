// Copies between the memory of a platform's devices and the host, on the stream of an execution.
#pragma once

#include <cstddef>
#include <string_view>

namespace farcall::pjrt {

// One for each platform. The functions raise INTERNAL if the platform reports an error. wait()
// returns when the copies that were started on the stream have ended.
class HostCopies {
 public:
  virtual ~HostCopies() = default;
  virtual void to_host(void* host, const void* device, size_t nbytes, void* stream) const = 0;
  virtual void to_device(void* device, const void* host, size_t nbytes, void* stream) const = 0;
  virtual void wait(void* stream) const = 0;

  // For a platform in canonical form: "cpu", "cuda". Null for a platform without an implementation.
  static const HostCopies* of(std::string_view platform);
};

}  // namespace farcall::pjrt
