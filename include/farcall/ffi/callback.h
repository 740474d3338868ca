// Callbacks: functions of this process that programs call. A callback is a target without a
// registered name. Its programs own it, and with it everything that its callable has captured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <farcall/core/error.h>
#include <farcall/core/export.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/ffi/call_context.h>
#include <farcall/ffi/registry.h>
#include <farcall/ffi/stage.h>

namespace farcall {

// The memory of a device other than the CPU.
struct BufferDevice {
  std::string_view platform;  // in canonical form: "cuda", "rocm", ...
  int32_t device_ordinal = 0;
  void* stream = nullptr;  // of the execution, on which the contents are valid
};

// One operand or result of a callback: dense, row-major, in the program's own memory, valid until
// the callback returns. Const buffers must not be written.
class FARCALL_API Buffer {
 public:
  Buffer() = default;
  Buffer(ShapeDtype type, void* data, const BufferDevice* device = nullptr)
      : type_(type), data_(data), device_(device) {}

  ShapeDtype type() const { return type_; }
  DType dtype() const { return type_.dtype(); }
  std::span<const int64_t> shape() const { return type_.shape(); }
  size_t rank() const { return type_.rank(); }
  int64_t size() const { return type_.size(); }
  size_t nbytes() const { return type_.nbytes(); }
  // An address in the memory of device().
  void* data() { return data_; }
  const void* data() const { return data_; }
  // Null for the CPU. Lives as long as the call.
  const BufferDevice* device() const { return device_; }

  // The elements. Raises INVALID_ARGUMENT if the size of T is not the width of the dtype, and
  // FAILED_PRECONDITION if they are not on the CPU.
  template <class T>
  std::span<T> values() {
    check_access(sizeof(T));
    return {static_cast<T*>(data_), static_cast<size_t>(size())};
  }
  template <class T>
  std::span<const T> values() const {
    check_access(sizeof(T));
    return {static_cast<const T*>(data_), static_cast<size_t>(size())};
  }

 private:
  void check_access(size_t width) const;

  ShapeDtype type_;
  void* data_ = nullptr;
  const BufferDevice* device_ = nullptr;
};

// What a callback can read about the execution that calls it.
class FARCALL_API ExecutionContext {
 public:
  ExecutionContext(Stage stage, const ExecutionOptions& options, int64_t run_id)
      : stage_(stage), options_(&options), run_id_(run_id) {}

  Stage stage() const { return stage_; }
  int32_t device_ordinal() const { return options_->device_ordinal; }
  // Shared by all calls of one execution, and unique to it.
  int64_t run_id() const { return run_id_; }
  bool has_stream() const { return options_->stream != nullptr; }
  // The stream of a device platform. Raises FAILED_PRECONDITION on the CPU.
  void* stream() const;
  ThreadPool& thread_pool() const;

 private:
  Stage stage_;
  const ExecutionOptions* options_;
  int64_t run_id_;
};

// The arguments of a callback's function. `keep` is ExecutionOptions::keeper.
struct CallbackCall {
  ExecutionContext context;
  std::span<Buffer> results;
  std::span<const Buffer> arguments;
  MemoryKeeper* keeper;  // may be null
};
using CallbackFunction = std::function<void(const CallbackCall&)>;

struct Callback {
  std::string name;  // of the user's function
  uint64_t number;   // unique in this process
  CallbackFunction function;
  // The function takes the lock of the front end itself, so a program that calls it may run while
  // the front end keeps the lock (Executable::may_keep_lock).
  bool takes_lock_of_front = false;
  std::shared_ptr<const Target> target;  // calls the function
};
// Callbacks compare by identity.
using CallbackPtr = std::shared_ptr<const Callback>;

// Exceptions of the function reach the caller of the program unchanged. `traits` are those of its
// target.
FARCALL_API CallbackPtr make_callback(std::string name, CallbackFunction function,
                                      bool takes_lock_of_front = false,
                                      FARCALL_FFI_Handler_Traits traits = 0);
// "name#number", as printed in programs.
FARCALL_API std::string to_string(const Callback& callback);
// The callback with that text. Raises NOT_FOUND if it is no longer alive in this process.
FARCALL_API CallbackPtr find_callback(std::string_view text);

inline size_t hash_of(const CallbackPtr& callback) {
  return std::hash<const Callback*>()(callback.get());
}

}  // namespace farcall
