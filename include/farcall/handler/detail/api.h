// Calls into the runtime's function table.
//
// The table only ever grew at its end, so an older runtime passes a shorter one: every call checks
// that the slot exists. A handler uses the version that it reports to the runtime's metadata query:
// the older of its own and the runtime's. It is computed from the table on each call and never
// stored, because one process may contain runtimes of different versions.
#pragma once

#include <farcall/handler/config.h>
#include <farcall/handler/error.h>

#include <cstddef>
#include <utility>

namespace farcall::ffi::detail {

// The minor version that the handler uses with this runtime.
inline int spoken_version(const FARCALL_FFI_Api* api) {
  constexpr int kOwn = FARCALL_FFI_VERSION_MINOR;
  if (api == nullptr) return kOwn;
  return api->api_version.minor_version < kOwn ? api->api_version.minor_version : kOwn;
}

// Moves an error of the runtime into an Error and frees it.
FARCALL_FFI_COLD inline Error take_error(const FARCALL_FFI_Api* api, FARCALL_FFI_Error* error) {
  FARCALL_FFI_Error_GetDetails_Args details = {};
  details.struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Error_GetDetails_Args, errc);
  details.error = error;
  details.message = "";
  details.errc = FARCALL_FFI_Error_Code_INTERNAL;  // kept if the runtime is older than 0.4
  api->Error_GetDetails(&details);
  Error result(details.errc, details.message);

  FARCALL_FFI_Error_Destroy_Args destroy = {};
  destroy.struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Error_Destroy_Args, error);
  destroy.error = error;
  api->Error_Destroy(&destroy);
  return result;
}

// `message` must be null-terminated.
FARCALL_FFI_COLD inline FARCALL_FFI_Error* make_error(const FARCALL_FFI_Api* api, ErrorCode code,
                                                      const char* message) {
  FARCALL_FFI_Error_Create_Args args = {};
  args.struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Error_Create_Args, errc);
  args.message = message;
  args.errc = static_cast<FARCALL_FFI_Error_Code>(code);
  return api->Error_Create(&args);
}

inline FARCALL_FFI_Error* make_error(const FARCALL_FFI_Api* api, const Error& error) {
  return make_error(api, error.code(), error.message().data());
}

FARCALL_FFI_COLD inline Error missing_in_runtime(const FARCALL_FFI_Api* api) {
  return Error::Unimplemented(api->api_version.minor_version < 1
                                  ? "the runtime is too old for it (interface 0.0)"
                                  : "the runtime does not offer it");
}

// Calls the table's function `member`, for instance &FARCALL_FFI_Api::RunId_Get.
template <typename Args>
Error call_api(const FARCALL_FFI_Api* api, FARCALL_FFI_Error* (*FARCALL_FFI_Api::*member)(Args*),
               Args& args, size_t struct_size = sizeof(Args)) {
  const char* slot = reinterpret_cast<const char*>(&(api->*member));
  const size_t end = static_cast<size_t>(slot - reinterpret_cast<const char*>(api)) + sizeof(void*);
  if (end > api->struct_size || api->*member == nullptr) return missing_in_runtime(api);
  args.struct_size = struct_size;
  FARCALL_FFI_Error* error = (api->*member)(&args);
  return FARCALL_FFI_LIKELY(error == nullptr) ? Error() : take_error(api, error);
}

}  // namespace farcall::ffi::detail
