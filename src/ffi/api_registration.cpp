#include "ffi/api_checks.h"
#include "ffi/api_functions.h"
#include "ffi/error_value.h"
#include "ffi/internal/register_args.h"
#include "ffi/internal/type_registry.h"

#include <farcall/ffi/registry.h>

namespace farcall::runtime {
namespace {

std::string_view as_text(FARCALL_FFI_ByteSpan span) {
  if (span.ptr == nullptr && span.len > 0) {
    invalid_argument(fmt::format("registry: a name of {} bytes is null", span.len));
  }
  return {span.ptr, span.len};
}

}  // namespace

FARCALL_FFI_Error* handler_register(FARCALL_FFI_Handler_Register_Args* args) {
  return guard([&] {
    check_args("Handler_Register", args, FARCALL_FFI_STRUCT_SIZE(RegisterArgs_0_3, traits));
    HandlerBundle bundle = {args->bundle.instantiate, args->bundle.prepare, args->bundle.initialize,
                            args->bundle.execute, nullptr};
    FARCALL_FFI_Handler_Traits traits;
    if (args->struct_size >= FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Handler_Register_Args, traits)) {
      bundle.record = args->bundle.record;
      traits = args->traits;
    } else {
      traits = reinterpret_cast<const RegisterArgs_0_3*>(args)->traits;
    }
    register_ffi_target(as_text(args->name), bundle, as_text(args->platform), 1, traits);
  });
}

// Handlers state the same size with and without the type info, so each version has its own
// function.
FARCALL_FFI_Error* type_register_0_1(FARCALL_FFI_Type_Register_Args* args) {
  return guard([&] {
    FARCALL_CHECK_ARGS("TypeId_Register", FARCALL_FFI_Type_Register_Args, type_id);
    register_type(as_text(args->name), args->type_id, nullptr);
  });
}

FARCALL_FFI_Error* type_register(FARCALL_FFI_Type_Register_Args* args) {
  return guard([&] {
    FARCALL_CHECK_ARGS("Type_Register", FARCALL_FFI_Type_Register_Args, type_id);
    register_type(as_text(args->name), args->type_id, deleter_of(args->type_info));
  });
}

}  // namespace farcall::runtime
