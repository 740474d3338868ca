// What handlers that a plugin calls read from their frame.
#pragma once

#include <cstdint>

#include <farcall/abi.h>

namespace farcall::pjrt {

// Whether the plugin asks for the handler's metadata instead of calling it.
bool is_metadata_query(const FARCALL_FFI_CallFrame& frame);
// The stream of the execution; null on a CPU.
void* stream_of(const FARCALL_FFI_CallFrame& frame);
// The number of the device; 0 if the plugin does not tell.
int32_t ordinal_of(const FARCALL_FFI_CallFrame& frame);
// The execution's user data of this type; null if there is none.
void* user_data_of(const FARCALL_FFI_CallFrame& frame, int64_t type_id);
// An error of the plugin's own kind, with the code INTERNAL.
FARCALL_FFI_Error* make_error(const FARCALL_FFI_CallFrame& frame, const char* message);
// Destroys an error that a function of the plugin's table returned.
void destroy(const FARCALL_FFI_Api& api, FARCALL_FFI_Error* error);

}  // namespace farcall::pjrt
