// Foreign calls: a call site (ForeignCall), and the frames with which it is run (Invocation).
//
// One executable makes one ForeignCall for each call site and, for each execution that may run at
// the same time as another, one Invocation of it. An execution is: begin() of all, prepare() of
// all, initialize() of all, execute() as often as the program says, end() of all.
#pragma once

#include <cstddef>
#include <cstdint>
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
  size_t workspace_bytes = 0;         // that Invocation::set_workspace will give
  std::string where;                  // the user's line, for errors; may be empty
  bool is_checked =
      is_on(Flag::kCheckForeignCalls);  // calls run between guards (ffi/checked_call.h)
};

// One call site. Immutable once made, shared by threads; owns the state of its instantiate stage.
class FARCALL_API ForeignCall {
 public:
  // Runs the instantiate stage. Raises INVALID_ARGUMENT for a spec that does not fit its target,
  // FAILED_PRECONDITION when the target cannot run here, FfiError when the stage fails.
  explicit ForeignCall(ForeignCallSpec spec);
  ~ForeignCall();
  ForeignCall(const ForeignCall&) = delete;
  ForeignCall& operator=(const ForeignCall&) = delete;

  const ForeignCallSpec& spec() const { return spec_; }
  const Target& target() const { return *spec_.target; }
  // The most bytes of scratch that the handler had at once, in any execution so far.
  size_t scratch_peak() const { return scratch_peak_.load(std::memory_order_relaxed); }
  // A prepare or an initialize stage is there.
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

// The frame of one call site in one execution state: built once, run again and again by one thread
// at a time. Everything but the data pointers is final. Refers to its ForeignCall, which must
// outlive it. May be moved between executions.
class FARCALL_API Invocation {
 public:
  explicit Invocation(const ForeignCall& call);
  Invocation(Invocation&& other) noexcept;
  ~Invocation();

  // The pointers stay until they are set again. A buffer of no bytes may be null; others are to be
  // aligned to kAlignment, which handlers rely on.
  void set_argument(size_t index, void* data) { buffers_[index].data = data; }
  void set_result(size_t index, void* data) { buffers_[num_arguments_ + index].data = data; }
  // Memory of spec().workspace_bytes, aligned to kAlignment, from which the handler's scratch is
  // taken first. It may hold anything, and may be anybody's between calls.
  void set_workspace(void* data) {
    context_.scratch.set_planned(data, call_->spec().workspace_bytes);
  }
  // Where set_argument() and set_result() write, valid until the invocation is moved.
  void** argument_slot(size_t index) { return &buffers_[index].data; }
  void** result_slot(size_t index) { return &buffers_[num_arguments_ + index].data; }
  size_t num_arguments() const { return num_arguments_; }
  size_t num_results() const { return buffers_.size() - num_arguments_; }

  bool has_execution_stages() const { return call_->has_execution_stages(); }
  const ForeignCall& call() const { return *call_; }

  // Binds what this execution offers; `options` must live until end(). An execute() that no begin()
  // came before sees default options.
  void begin(const ExecutionOptions& options);
  // Do nothing where the target has no such stage.
  void prepare();
  void initialize();
  // Calls the handler and returns when it is done, a future of it included. Raises FfiError; what a
  // C++ callable throws comes through as it is. Everything stays usable after an error.
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

  // Adds the memory that the handler sees in place of what was set, which is some where calls are
  // checked: what a MemoryKeeper has to keep besides its own.
  void add_memory(std::vector<Storage>& all) const;

  // Blocks of scratch memory that handlers did not give back before their call ended; they are
  // freed then. Handlers built with the header of version 0.0 never give any back.
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

// All stages of one call, once: for tests and tools. The target is looked up by name, or given.
FARCALL_API void call_target(std::string_view name, std::span<const RawBuffer> arguments,
                             std::span<const RawBuffer> results, Attributes attributes = {},
                             const ExecutionOptions& options = {},
                             std::string_view platform = "cpu");
FARCALL_API void call_target(std::shared_ptr<const Target> target,
                             std::span<const RawBuffer> arguments,
                             std::span<const RawBuffer> results, Attributes attributes = {},
                             const ExecutionOptions& options = {});

}  // namespace farcall
