#include "ffi/api_checks.h"
#include "ffi/api_functions.h"
#include "ffi/error_value.h"
#include "ffi/future.h"

namespace farcall::runtime {

FARCALL_FFI_Error* error_create(FARCALL_FFI_Error_Create_Args* args) {
  FARCALL_FFI_Error* created = nullptr;
  FARCALL_FFI_Error* failed = guard([&] {
    FARCALL_CHECK_ARGS("Error_Create", FARCALL_FFI_Error_Create_Args, errc);
    created = make_error(error_code_from_abi(static_cast<int>(args->errc)),
                         args->message ? args->message : "");
  });
  return failed ? failed : created;
}

void error_get_details(FARCALL_FFI_Error_GetDetails_Args* args) {
  if (args == nullptr ||
      args->struct_size < FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Error_GetDetails_Args, message)) {
    return;
  }
  args->message = args->error ? args->error->message.c_str() : "";
  // Up to version 0.3 the struct ended before `errc`.
  if (args->struct_size >= FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Error_GetDetails_Args, errc)) {
    args->errc = static_cast<FARCALL_FFI_Error_Code>(
        args->error ? static_cast<int>(args->error->code) : FARCALL_FFI_Error_Code_UNKNOWN);
  }
}

void error_destroy(FARCALL_FFI_Error_Destroy_Args* args) {
  if (args == nullptr ||
      args->struct_size < FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Error_Destroy_Args, error)) {
    return;
  }
  delete args->error;
}

FARCALL_FFI_Error* future_create(FARCALL_FFI_Future_Create_Args* args) {
  return guard([&] {
    // All published headers state a size that excludes the out-field `future`.
    FARCALL_CHECK_ARGS("Future_Create", FARCALL_FFI_Future_Create_Args, extension_start);
    args->future = new FARCALL_FFI_Future;
  });
}

FARCALL_FFI_Error* future_set_available(FARCALL_FFI_Future_SetAvailable_Args* args) {
  return guard([&] {
    FARCALL_CHECK_ARGS("Future_SetAvailable", FARCALL_FFI_Future_SetAvailable_Args, future);
    if (args->future == nullptr) {
      invalid_argument("Future_SetAvailable: the future is null");
    }
    args->future->complete(nullptr);
  });
}

FARCALL_FFI_Error* future_set_error(FARCALL_FFI_Future_SetError_Args* args) {
  return guard([&] {
    FARCALL_CHECK_ARGS("Future_SetError", FARCALL_FFI_Future_SetError_Args, error);
    ErrorPointer error(args->error);
    if (args->future == nullptr) {
      invalid_argument("Future_SetError: the future is null");
    }
    if (error == nullptr) {
      error.reset(make_error(ErrorCode::kUnknown, "the future failed without an error"));
    }
    args->future->complete(error.release());
  });
}

}  // namespace farcall::runtime
