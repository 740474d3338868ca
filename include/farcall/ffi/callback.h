// Callbacks: functions of this process that programs call. A callback is a target that no name
// finds; whatever holds the program keeps it, and with it what its callable has captured.
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

// One operand or result of a callback, dense and row-major, in the program's own memory: valid
// until the callback returns. What is const is not to be written.
class FARCALL_API Buffer {
 public:
  Buffer() = default;
  Buffer(ShapeDtype type, void* data) : type_(type), data_(data) {}

  ShapeDtype type() const { return type_; }
  DType dtype() const { return type_.dtype(); }
  std::span<const int64_t> shape() const { return type_.shape(); }
  size_t rank() const { return type_.rank(); }
  int64_t size() const { return type_.size(); }
  size_t nbytes() const { return type_.nbytes(); }
  void* data() { return data_; }
  const void* data() const { return data_; }

  // The elements; raises INVALID_ARGUMENT when T does not have the width of the dtype.
  template <class T>
  std::span<T> values() {
    check_width(sizeof(T));
    return {static_cast<T*>(data_), static_cast<size_t>(size())};
  }
  template <class T>
  std::span<const T> values() const {
    check_width(sizeof(T));
    return {static_cast<const T*>(data_), static_cast<size_t>(size())};
  }

 private:
  void check_width(size_t width) const;

  ShapeDtype type_;
  void* data_ = nullptr;
};

// What a callback knows of the execution that calls it.
class FARCALL_API ExecutionContext {
 public:
  ExecutionContext(Stage stage, const ExecutionOptions& options, int64_t run_id)
      : stage_(stage), options_(&options), run_id_(run_id) {}

  Stage stage() const { return stage_; }
  int32_t device_ordinal() const { return options_->device_ordinal; }
  // The same for all calls of one execution, and no other's.
  int64_t run_id() const { return run_id_; }
  bool has_stream() const { return options_->stream != nullptr; }
  // Of a device platform. Raises FAILED_PRECONDITION on the CPU, which has none.
  void* stream() const;
  ThreadPool& thread_pool() const;

 private:
  Stage stage_;
  const ExecutionOptions* options_;
  int64_t run_id_;
};

// One call as a callback's function sees it. `keep` is what ExecutionOptions::keeper says.
struct CallbackCall {
  ExecutionContext context;
  std::span<Buffer> results;
  std::span<const Buffer> arguments;
  MemoryKeeper* keeper;  // may be null
};
using CallbackFunction = std::function<void(const CallbackCall&)>;

struct Callback {
  std::string name;  // of the user's function
  uint64_t number;   // no other callback of this process has it
  CallbackFunction function;
  // It takes a lock that the front holds while brief programs run, so that a program is brief
  // however many of these it calls.
  bool takes_lock_of_front = false;
  std::shared_ptr<const Target> target;  // calls the function
};
// Callbacks compare by identity.
using CallbackPtr = std::shared_ptr<const Callback>;

// What the function throws reaches the caller of the program as it is.
FARCALL_API CallbackPtr make_callback(std::string name, CallbackFunction function,
                                      bool takes_lock_of_front = false);
// "name#number", what programs print.
FARCALL_API std::string to_string(const Callback& callback);
// The callback of that text. Raises NOT_FOUND when nothing in this process holds it any more.
FARCALL_API CallbackPtr find_callback(std::string_view text);

inline size_t hash_of(const CallbackPtr& callback) {
  return std::hash<const Callback*>()(callback.get());
}

}  // namespace farcall
