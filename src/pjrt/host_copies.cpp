#include "pjrt/host_copies.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>

#include <farcall/core/error.h>

namespace farcall::pjrt {
namespace {

class CpuCopies final : public HostCopies {
 public:
  void to_host(void* host, const void* device, size_t nbytes, void*) const override {
    std::memcpy(host, device, nbytes);
  }
  void to_device(void* device, const void* host, size_t nbytes, void*) const override {
    std::memcpy(device, host, nbytes);
  }
  void wait(void*) const override {}
  void wait_for_libraries(int) const override {}
};

// CUDA's driver, loaded on first use. The plugin has loaded it before, and has made the context of
// the device current on the thread that calls a handler.
class CudaCopies final : public HostCopies {
 public:
  void to_host(void* host, const void* device, size_t nbytes, void* stream) const override {
    check(driver().to_host(host, reinterpret_cast<uintptr_t>(device), nbytes, stream),
          "cuMemcpyDtoHAsync");
  }
  void to_device(void* device, const void* host, size_t nbytes, void* stream) const override {
    check(driver().to_device(reinterpret_cast<uintptr_t>(device), host, nbytes, stream),
          "cuMemcpyHtoDAsync");
  }
  void wait(void* stream) const override { check(driver().wait(stream), "cuStreamSynchronize"); }

  // In the device's primary context, which all libraries share.
  void wait_for_libraries(int ordinal) const override {
    int device = 0;
    check(driver().get_device(&device, ordinal), "cuDeviceGet");
    void* context = nullptr;
    check(driver().retain_context(&context, device), "cuDevicePrimaryCtxRetain");
    int status = driver().push_context(context);
    if (status == 0) {
      status = driver().wait(nullptr);
      driver().pop_context(&context);
    }
    driver().release_context(device);
    check(status, "cuStreamSynchronize");
  }

 private:
  struct Driver {
    int (*to_host)(void* host, uint64_t device, size_t nbytes, void* stream);
    int (*to_device)(uint64_t device, const void* host, size_t nbytes, void* stream);
    int (*wait)(void* stream);
    int (*get_device)(int* device, int ordinal);
    int (*retain_context)(void** context, int device);
    int (*release_context)(int device);
    int (*push_context)(void* context);
    int (*pop_context)(void** context);
    int (*error_name)(int status, const char** name);
  };

  static const Driver& driver() {
    static const Driver loaded = load();
    return loaded;
  }

  static Driver load() {
    constexpr const char* kLibrary = "libcuda.so.1";
    void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (!library) throw Error(ErrorCode::kInternal, fmt::format("pjrt: {}", dlerror()));
    Driver found{};
    const auto find = [&](auto& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (function) return;
      throw Error(ErrorCode::kInternal, fmt::format("pjrt: {} has no {}", kLibrary, name));
    };
    find(found.to_host, "cuMemcpyDtoHAsync_v2");
    find(found.to_device, "cuMemcpyHtoDAsync_v2");
    find(found.wait, "cuStreamSynchronize");
    find(found.get_device, "cuDeviceGet");
    find(found.retain_context, "cuDevicePrimaryCtxRetain");
    find(found.release_context, "cuDevicePrimaryCtxRelease_v2");
    find(found.push_context, "cuCtxPushCurrent_v2");
    find(found.pop_context, "cuCtxPopCurrent_v2");
    find(found.error_name, "cuGetErrorName");
    return found;
  }

  static void check(int status, const char* function) {
    if (status == 0) return;
    const char* name = nullptr;
    driver().error_name(status, &name);
    throw Error(ErrorCode::kInternal, fmt::format("pjrt: {} failed with {} ({})", function, status,
                                                  name ? name : "an unknown error"));
  }
};

}  // namespace

const HostCopies* HostCopies::of(std::string_view platform) {
  static const CpuCopies cpu;
  static const CudaCopies cuda;
  if (platform == "cpu") return &cpu;
  if (platform == "cuda") return &cuda;
  return nullptr;
}

}  // namespace farcall::pjrt
