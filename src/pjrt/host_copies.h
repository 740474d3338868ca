// What farcall does with the driver of a platform: copies between the memory of its devices and the
// host, on the stream of an execution, and waiting for other libraries.
#pragma once

#include <cstddef>
#include <string_view>

namespace farcall::pjrt {

// One for each platform. The functions raise INTERNAL if the platform reports an error. wait()
// returns when the copies that were started on the stream have ended. wait_for_libraries() returns
// when the work on the default stream of a device of this process has ended.
class HostCopies {
 public:
  virtual ~HostCopies() = default;
  virtual void to_host(void* host, const void* device, size_t nbytes, void* stream) const = 0;
  virtual void to_device(void* device, const void* host, size_t nbytes, void* stream) const = 0;
  virtual void wait(void* stream) const = 0;
  virtual void wait_for_libraries(int device) const = 0;

  // For a platform in canonical form: "cpu", "cuda". Null for a platform without an implementation.
  static const HostCopies* of(std::string_view platform);
};

}  // namespace farcall::pjrt
