// Foreign calls: call sites (ForeignCall) and the frames that run them (Invocation).
//
// An executable creates one ForeignCall for each call site, and one Invocation of it for each
// execution that may run concurrently. The order of an execution: begin() of all, prepare() of all,
// initialize() of all, execute() as often as the program calls, end() of all.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <farcall/abi.h>
#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/core/export.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/core/storage.h>
#include <farcall/ffi/attribute.h>
#include <farcall/ffi/call_context.h>
#include <farcall/ffi/registry.h>

namespace farcall {

struct ForeignCallSpec {
  std::shared_ptr<const Target> target;
  std::vector<ShapeDtype> arguments;
  std::vector<ShapeDtype> results;
  Attributes attributes;              // of typed targets
  int custom_call_api_version = 4;    // 0 to 3 for untyped targets
  std::string legacy_backend_config;  // of untyped targets
  size_t workspace_bytes = 0;         // size of the memory for Invocation::set_workspace
  std::string where;                  // the user's line, for errors; may be empty
  bool is_checked =
      is_on(Flag::kCheckForeignCalls);  // calls run between guards (ffi/checked_call.h)
};

// One call site. Immutable and shared by threads; owns the state of its instantiate stage.
class FARCALL_API ForeignCall {
 public:
  // Runs the instantiate stage. Raises INVALID_ARGUMENT for a spec that does not fit its target,
  // FAILED_PRECONDITION if the target cannot run here, FfiError if the stage fails.
  explicit ForeignCall(ForeignCallSpec spec);
  ~ForeignCall();
  ForeignCall(const ForeignCall&) = delete;
  ForeignCall& operator=(const ForeignCall&) = delete;

  const ForeignCallSpec& spec() const { return spec_; }
  const Target& target() const { return *spec_.target; }
  // The largest number of scratch bytes in use at once, over all executions so far.
  size_t scratch_peak() const { return scratch_peak_.load(std::memory_order_relaxed); }
  // Whether the target has a prepare or an initialize stage.
  bool has_execution_stages() const {
    return target().has_stage(Stage::kPrepare) || target().has_stage(Stage::kInitialize);
  }

 private:
  friend class Invocation;

  void instantiate();

  ForeignCallSpec spec_;
  std::unique_ptr<const AttributeFrame> attributes_;
  runtime::StateSlot state_;
  mutable std::atomic<size_t> scratch_peak_{0};
};

// The frame of one call site in one execution: built once, run repeatedly by one thread at a time.
// Only the data pointers change. Its ForeignCall must outlive it. May be moved between executions.
class FARCALL_API Invocation {
 public:
  explicit Invocation(const ForeignCall& call);
  Invocation(Invocation&& other) noexcept;
  ~Invocation();

  // Pointers stay set until they are replaced. An empty buffer may be null; others must be aligned
  // to kAlignment, which handlers rely on.
  void set_argument(size_t index, void* data) { buffers_[index].data = data; }
  void set_result(size_t index, void* data) { buffers_[num_arguments_ + index].data = data; }
  // Memory of spec().workspace_bytes, aligned to kAlignment, which the handler's scratch allocator
  // hands out first. Its contents are arbitrary, and others may use it between calls.
  void set_workspace(void* data) {
    context_.scratch.set_planned(data, call_->spec().workspace_bytes);
  }
  // The locations that set_argument() and set_result() write, valid until the invocation is moved.
  void** argument_slot(size_t index) { return &buffers_[index].data; }
  void** result_slot(size_t index) { return &buffers_[num_arguments_ + index].data; }
  size_t num_arguments() const { return num_arguments_; }
  size_t num_results() const { return buffers_.size() - num_arguments_; }

  bool has_execution_stages() const { return call_->has_execution_stages(); }
  const ForeignCall& call() const { return *call_; }

  // Sets the options of this execution; `options` must live until end(). An execute() without
  // begin() sees default options.
  void begin(const ExecutionOptions& options);
  // Do nothing if the target has no such stage.
  void prepare();
  void initialize();
  // Calls the handler and waits until it is done, including its future. Raises FfiError; exceptions
  // of a C++ callable pass through unchanged. The invocation stays usable after an error.
  void execute() {
    FARCALL_FFI_Error* error;
    try {
      error = execute_(&frame_);
    } catch (...) {
      handler_threw();
    }
    if (error != nullptr || frame_.future != nullptr || context_.scratch.is_used()) [[unlikely]] {
      finish(error);
    }
  }
  // Destroys the states of the initialize and the prepare stage.
  void end() noexcept;

  // Appends the memory that checked calls pass to the handler in place of the pointers that were
  // set. A MemoryKeeper must keep it too. Appends nothing if calls are not checked.
  void add_memory(std::vector<Storage>& all) const;

  // The number of scratch blocks that handlers did not free before their call ended; the runtime
  // then freed them. Handlers built with the header of version 0.0 never free any.
  size_t num_leaked_scratch_blocks() const { return num_leaked_; }

 private:
  void build_frame();
  void run_stage(Stage stage);
  void finish(FARCALL_FFI_Error* error);
  [[noreturn]] void handler_threw();

  FARCALL_FFI_Handler* execute_;
  std::unique_ptr<runtime::CheckedCall> checks_;  // null unless calls are checked
  const ForeignCall* call_;
  size_t num_arguments_;
  size_t num_leaked_ = 0;
  std::vector<FARCALL_FFI_Buffer> buffers_;  // arguments, then results
  std::vector<void*> pointers_;              // to the above
  FARCALL_FFI_CallFrame frame_;
  FARCALL_FFI_ExecutionContext context_;
};

// One buffer of call_target.
struct RawBuffer {
  ShapeDtype type;
  void* data = nullptr;
};

// Runs all stages of one call once, for tests and tools. The target is looked up by name, or given.
FARCALL_API void call_target(std::string_view name, std::span<const RawBuffer> arguments,
                             std::span<const RawBuffer> results, Attributes attributes = {},
                             const ExecutionOptions& options = {},
                             std::string_view platform = "cpu");
FARCALL_API void call_target(std::shared_ptr<const Target> target,
                             std::span<const RawBuffer> arguments,
                             std::span<const RawBuffer> results, Attributes attributes = {},
                             const ExecutionOptions& options = {});

}  // namespace farcall
