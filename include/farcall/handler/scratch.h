// Device memory that lives until the call ends.
#pragma once

#include <farcall/handler/context.h>

#include <cstddef>
#include <optional>
#include <utility>

namespace farcall::ffi {

// A parameter taken by value: its allocations are freed when it is destroyed.
class ScratchAllocator {
 public:
  explicit ScratchAllocator(const Context& context) : context_(context) {}
  ScratchAllocator(ScratchAllocator&& other) noexcept
      : context_(other.context_), last_(std::exchange(other.last_, nullptr)) {}
  ScratchAllocator& operator=(ScratchAllocator&&) = delete;
  ~ScratchAllocator() {
    while (last_ != nullptr) {
      free(last_->size, last_->data);
      delete std::exchange(last_, last_->previous);
    }
  }

  // Empty if the device is out of memory; `alignment` must be a power of two.
  std::optional<void*> Allocate(size_t size, size_t alignment = 1) {
    ErrorOr<void*> data = try_allocate(size, alignment);
    return data.has_value() ? std::optional<void*>(*data) : std::nullopt;
  }

  // The same, but returns the runtime's error.
  ErrorOr<void*> try_allocate(size_t size, size_t alignment = 1) {
    FARCALL_FFI_DeviceMemory_Allocate_Args args = {};
    args.ctx = context_.ctx();
    args.size = size;
    args.alignment = alignment;
    Error error = detail::call_api(context_.api(), &FARCALL_FFI_Api::DeviceMemory_Allocate, args);
    if (error.failure()) return error;
    last_ = new Allocation{size, args.data, last_};
    return args.data;
  }

 private:
  struct Allocation {
    size_t size;
    void* data;
    Allocation* previous;
  };

  void free(size_t size, void* data) {
    FARCALL_FFI_DeviceMemory_Free_Args args = {};
    args.ctx = context_.ctx();
    args.size = size;
    args.data = data;
    // A destructor cannot report a failed free; the runtime frees the rest after the call.
    (void)detail::call_api(context_.api(), &FARCALL_FFI_Api::DeviceMemory_Free, args);
  }

  Context context_;
  Allocation* last_ = nullptr;
};

template <>
struct CtxDecoding<ScratchAllocator> {
  static constexpr const char* kName = "scratch allocator";
  static ErrorOr<ScratchAllocator> decode(const Context& context) {
    return ScratchAllocator(context);
  }
};

}  // namespace farcall::ffi
