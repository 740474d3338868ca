// Isolated targets: handlers that run in a process of their own, over shared memory, so that a
// crash of theirs is an error of the call, and the program goes on.
#pragma once

#include <cstdint>
#include <string_view>

#include <farcall/core/export.h>
#include <farcall/ffi/registry.h>

namespace farcall {

struct IsolationOptions {
  double timeout_seconds = 0;  // of one call, after which its process is killed; 0: none
};

// As register_ffi_target, for typed handlers on the CPU. A call copies its operands into memory
// that is shared with a helper process (farcall-run), which loads the handlers' library, runs all
// stages there, and stays for the next call; calls of several threads at once have a helper each.
// Whatever the call of a call site needs more than its operands is made in the helper: the state of
// the instantiate stage, by the first call of a site, and again after a crash; those of prepare and
// initialize, by each call; scratch and the thread pool.
//
// Calls raise FfiError: ABORTED with the signal and the stack when the process ends, and
// DEADLINE_EXCEEDED after the time limit; errors that a handler reports stay as they are. The next
// call has a new process. FAILED_PRECONDITION where an execution has user data, custom options or
// extensions, which are pointers of this process, or where farcall-run is not installed.
//
// The same handlers under the same name again are no error. Raises INVALID_ARGUMENT for handlers
// that another process cannot load, as they lie in the program itself or were made at run time;
// ALREADY_EXISTS as register_ffi_target does.
FARCALL_API void register_isolated_ffi_target(std::string_view name, const HandlerBundle& bundle,
                                              const IsolationOptions& options = {},
                                              FARCALL_FFI_Handler_Traits traits = 0);
inline void register_isolated_ffi_target(std::string_view name, FARCALL_FFI_Handler* execute,
                                         const IsolationOptions& options = {},
                                         FARCALL_FFI_Handler_Traits traits = 0) {
  register_isolated_ffi_target(name, HandlerBundle{.execute = execute}, options, traits);
}

namespace detail {
// The helper's side: answers calls that come through a socket, with operands in the memory of a
// file, until the other end is closed. The process is the helper's own from then on.
FARCALL_API int serve_isolated_calls(int socket, int memory);
}  // namespace detail

}  // namespace farcall
