// Callbacks: C++ functions that programs call, on the thread that runs the program.
//
// A callback may itself use farcall, at any depth. It may throw: the exception reaches the caller
// of the program unchanged. Programs keep the functions that they call alive. Programs that run on
// several threads may call one function concurrently. A function gets random keys as their words,
// uint32[..., 2].
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/ffi/callback.h>
#include <farcall/primitives/callback.h>
#include <farcall/trace/array.h>

namespace farcall {

struct Primitive;

struct CallbackOptions {
  // Name of the function in error messages and printed programs.
  std::string name = "callback";
  // The function is called exactly once per execution, even if its results are unused.
  bool has_side_effect = false;
  // Calls with this flag run in program order. Implies has_side_effect.
  bool is_ordered = false;
  // As in ffi_call. Without it, vmap of a pure callback raises, and an unordered callback with side
  // effects is called once for each batch element, in sequence.
  std::optional<std::string> vmap_method = {};
  // Maps an operand's index to the index of the result that reuses its memory.
  std::map<int64_t, int64_t> input_output_aliases = {};
  // On CUDA: the callback is recorded once and replayed. Changes nothing on the CPU.
  bool command_buffer_compatible = false;
};

// Writes the results in place. Results are uninitialized, except those that alias an operand.
using BufferFunction =
    std::function<void(ExecutionContext&, std::span<Buffer>, std::span<const Buffer>)>;
// Takes arrays and returns arrays of the declared types.
using ArrayFunction = std::function<std::vector<Array>(std::span<const Array>)>;

// A function that works on the program's own buffers, together with the types of its results. It
// can be called any number of times, on concrete and on traced arrays.
class FARCALL_API BufferCallback {
 public:
  BufferCallback(BufferFunction function, std::vector<ShapeDtype> result_types,
                 CallbackOptions options = {});
  // No move operations: moving copies, so a moved-from callback keeps its function.
  BufferCallback(const BufferCallback&) = default;
  BufferCallback& operator=(const BufferCallback&) = default;

  // Raises INVALID_ARGUMENT if the operands do not fit the options.
  std::vector<Array> operator()(ListOf<Array> operands) const;

 private:
  CallbackPtr callback_;
  std::vector<ShapeDtype> result_types_;
  CallbackOptions options_;
};
FARCALL_API BufferCallback buffer_callback(BufferFunction function,
                                           std::vector<ShapeDtype> result_types,
                                           CallbackOptions options = {});

// Calls a function without side effects: a program may call it never, once or more often. Raises
// INVALID_ARGUMENT if the results have other types than declared.
FARCALL_API std::vector<Array> pure_callback(ArrayFunction function,
                                             std::vector<ShapeDtype> result_types,
                                             ListOf<Array> operands,
                                             const CallbackOptions& options = {});
// Calls a function with side effects, once per execution.
FARCALL_API std::vector<Array> io_callback(ArrayFunction function,
                                           std::vector<ShapeDtype> result_types,
                                           ListOf<Array> operands,
                                           const CallbackOptions& options = {});

namespace debug {

// Calls a function for its side effects. Transformations leave it in place: it receives the primal
// values, not tangents. Under vmap it is called for each batch element in sequence.
FARCALL_API void callback(std::function<void(std::span<const Array>)> function,
                          ListOf<Array> operands, const CallbackOptions& options = {});
// Prints a line to standard output when execution reaches it. `format` is as for fmt::format; its
// fields are the operands.
FARCALL_API void print(std::string_view format, ListOf<Array> operands, bool is_ordered = false);

}  // namespace debug

// Waits until all callbacks of the programs that this thread has run are finished and their output
// is flushed.
FARCALL_API void effects_barrier();

// ---- for front ends ----

enum class CallbackKind : uint8_t { kBuffer, kPure, kIo, kDebug };

// "buffer_callback", ...
FARCALL_API std::string_view callback_kind_name(CallbackKind kind);
FARCALL_API const Primitive& callback_primitive(CallbackKind kind);
// Wraps the function so that its operations run eagerly, even while the calling thread records or
// transforms a function.
FARCALL_API CallbackPtr make_program_callback(std::string name, CallbackFunction function,
                                              bool command_buffer_compatible = false,
                                              bool takes_lock_of_front = false);
// Adapts a function on arrays to one on buffers, and checks its results. `kind` is for messages.
FARCALL_API CallbackFunction on_arrays(CallbackKind kind, std::string name, ArrayFunction function);
// Raises INVALID_ARGUMENT for options that are invalid for all operands. `what` begins the message.
FARCALL_API void check_callback_options(std::string_view what,
                                        std::span<const ShapeDtype> result_types,
                                        const CallbackOptions& options);
// Calls or records a callback. Raises INVALID_ARGUMENT if the operands do not fit the options.
FARCALL_API std::vector<Array> bind_callback(CallbackKind kind, const CallbackPtr& callback,
                                             std::span<const Array> operands,
                                             std::span<const ShapeDtype> result_types,
                                             const CallbackOptions& options);

}  // namespace farcall
