// Callbacks: C++ functions that programs call, on the thread that runs the program.
//
// A callback may itself use farcall, at any depth, and may throw: the exception reaches the caller
// of the program as it is. Functions are kept by the programs that call them. Programs on several
// threads call a function from several threads at once.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
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

struct CallbackOptions {
  // How messages and programs call the function.
  std::string name = "callback";
  // The call happens exactly once per execution, even when nobody reads its results.
  bool has_side_effect = false;
  // Calls with this keep their order among themselves. Implies has_side_effect.
  bool is_ordered = false;
  // As of ffi_call. Without it a pure callback cannot be mapped over; an unordered one with side
  // effects is called for one element after the other.
  std::optional<std::string> vmap_method = {};
  // From the index of an operand to that of the result that takes over its memory.
  std::map<int64_t, int64_t> input_output_aliases = {};
  // On CUDA: the callback is recorded once and replayed. Changes nothing on the CPU.
  bool command_buffer_compatible = false;
};

// Writes the results in place; they are not initialised, except where one takes over an operand.
using BufferFunction =
    std::function<void(ExecutionContext&, std::span<Buffer>, std::span<const Buffer>)>;
// From arrays to arrays of the declared types.
using ArrayFunction = std::function<std::vector<Array>(std::span<const Array>)>;

// A function that works on the program's own memory, with the types of its results: callable, again
// and again, on concrete and on traced arrays.
class FARCALL_API BufferCallback {
 public:
  BufferCallback(BufferFunction function, std::vector<ShapeDtype> result_types,
                 CallbackOptions options = {});
  // Moving copies, so that no callback is left without a function.
  BufferCallback(const BufferCallback&) = default;
  BufferCallback& operator=(const BufferCallback&) = default;

  // Raises INVALID_ARGUMENT for operands that the options do not fit.
  std::vector<Array> operator()(ListOf<Array> operands) const;

 private:
  CallbackPtr callback_;
  std::vector<ShapeDtype> result_types_;
  CallbackOptions options_;
};
FARCALL_API BufferCallback buffer_callback(BufferFunction function,
                                           std::vector<ShapeDtype> result_types,
                                           CallbackOptions options = {});

// Calls a function without side effects: it may be called never, once or more often. Results of
// other types than declared raise INVALID_ARGUMENT.
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

// Calls a function for its side effects. Transformations leave it in place: it sees the values, not
// tangents, and under vmap one element after the other.
FARCALL_API void callback(std::function<void(std::span<const Array>)> function,
                          ListOf<Array> operands, const CallbackOptions& options = {});
// Prints a line to standard output when the program gets there: `format` as of fmt::format, its
// fields the operands.
FARCALL_API void print(std::string_view format, ListOf<Array> operands, bool is_ordered = false);

}  // namespace debug

// Returns when all callbacks of programs that this thread has run are over, and what they printed
// is out.
FARCALL_API void effects_barrier();

// ---- what fronts are made of ----

enum class CallbackKind : uint8_t { kBuffer, kPure, kIo, kDebug };

// "buffer_callback", ...
FARCALL_API std::string_view callback_kind_name(CallbackKind kind);
// Runs the function with operations happening at once, whatever the thread is transforming.
FARCALL_API CallbackPtr make_program_callback(std::string name, CallbackFunction function,
                                              bool takes_lock_of_front = false);
// A function on arrays as one on buffers, with its results checked. `kind` is for messages.
FARCALL_API CallbackFunction on_arrays(CallbackKind kind, std::string name, ArrayFunction function);
// Raises INVALID_ARGUMENT for options that no operands could fit. `what` begins the message.
FARCALL_API void check_callback_options(std::string_view what,
                                        std::span<const ShapeDtype> result_types,
                                        const CallbackOptions& options);
// Calls or records a callback. Raises INVALID_ARGUMENT for options that do not fit.
FARCALL_API std::vector<Array> bind_callback(CallbackKind kind, const CallbackPtr& callback,
                                             std::span<const Array> operands,
                                             std::span<const ShapeDtype> result_types,
                                             const CallbackOptions& options);

}  // namespace farcall
