// Isolated targets: handlers that run in a helper process over shared memory. A crash becomes an
// error of the call, and the program continues.
#pragma once

#include <string_view>

#include <farcall/core/export.h>
#include <farcall/ffi/registry.h>

namespace farcall {

struct IsolationOptions {
  double timeout_seconds = 0;  // limit of one call, after which its process is killed; 0: none
};

// Like register_ffi_target, for typed handlers on the CPU. A call copies its operands into memory
// shared with a helper process (farcall-run), which loads the handlers' library, runs all stages,
// and then stays for the next call. Concurrent calls have a helper each. Everything else that a
// call needs is created in the helper: the state of the instantiate stage at the first call of a
// site and again after a crash; the states of prepare and initialize in each call; scratch and the
// thread pool.
//
// Calls raise FfiError: ABORTED with the signal and the stack if the process dies, and
// DEADLINE_EXCEEDED after the time limit. The next call uses another process. Errors that a
// handler reports are unchanged. Calls raise FAILED_PRECONDITION if the execution has user data,
// custom options or extensions, which are pointers into this process, or if farcall-run is not
// installed.
//
// Registering the same handlers with the same options again is not an error. Raises
// INVALID_ARGUMENT for handlers that another process cannot load (in the main program, or created
// at run time) and for a negative timeout, ALREADY_EXISTS as register_ffi_target does.
FARCALL_API void register_isolated_ffi_target(std::string_view name, const HandlerBundle& bundle,
                                              const IsolationOptions& options = {},
                                              FARCALL_FFI_Handler_Traits traits = 0);
inline void register_isolated_ffi_target(std::string_view name, FARCALL_FFI_Handler* execute,
                                         const IsolationOptions& options = {},
                                         FARCALL_FFI_Handler_Traits traits = 0) {
  register_isolated_ffi_target(name, HandlerBundle{.execute = execute}, options, traits);
}

namespace detail {
// For the helper process: answers calls from a socket, with operands in the memory of a file, until
// the other end is closed. Then ends the process.
[[noreturn]] FARCALL_API void serve_isolated_calls(int socket, int memory);

// For programs that only run handlers. From now on, a signal that would end this process calls
// `report` with its name and the stack of the handler; `report` may end the process.
FARCALL_API void report_crashes(void (*report)(const char* text));
}  // namespace detail

}  // namespace farcall
