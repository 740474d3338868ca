#include "pjrt/frame.h"

namespace farcall::pjrt {
namespace {

// Calls a function of the plugin's table that reads the execution. Returns false if it fails, as
// the stream does on a CPU.
template <class Args>
bool read(const FARCALL_FFI_Api& api, FARCALL_FFI_Error* (*function)(Args*), Args& args,
          size_t size) {
  if (!function) return false;
  args.struct_size = size;
  FARCALL_FFI_Error* error = function(&args);
  if (!error) return true;
  destroy(api, error);
  return false;
}

}  // namespace

bool is_metadata_query(const FARCALL_FFI_CallFrame& frame) {
  const FARCALL_FFI_InternalExtension* next = frame.extension_start;
  while (next && next->type != FARCALL_FFI_Extension_Metadata) next = next->next;
  return next != nullptr;
}

void* stream_of(const FARCALL_FFI_CallFrame& frame) {
  FARCALL_FFI_Stream_Get_Args args{};
  args.ctx = frame.ctx;
  const size_t size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Stream_Get_Args, stream);
  return read(*frame.api, frame.api->Stream_Get, args, size) ? args.stream : nullptr;
}

int32_t ordinal_of(const FARCALL_FFI_CallFrame& frame) {
  FARCALL_FFI_DeviceOrdinal_Get_Args args{};
  args.ctx = frame.ctx;
  const size_t size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_DeviceOrdinal_Get_Args, device_ordinal);
  return read(*frame.api, frame.api->DeviceOrdinal_Get, args, size) ? args.device_ordinal : 0;
}

void* user_data_of(const FARCALL_FFI_CallFrame& frame, int64_t type_id) {
  FARCALL_FFI_TypeId id = {type_id};
  FARCALL_FFI_ExecutionContext_Get_Args args{};
  args.ctx = frame.ctx;
  args.type_id = &id;
  const size_t size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_ExecutionContext_Get_Args, data);
  return read(*frame.api, frame.api->ExecutionContext_Get, args, size) ? args.data : nullptr;
}

FARCALL_FFI_Error* make_error(const FARCALL_FFI_CallFrame& frame, const char* message) {
  FARCALL_FFI_Error_Create_Args args{};
  args.struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Error_Create_Args, errc);
  args.message = message;
  args.errc = FARCALL_FFI_Error_Code_INTERNAL;
  return frame.api->Error_Create(&args);
}

void destroy(const FARCALL_FFI_Api& api, FARCALL_FFI_Error* error) {
  FARCALL_FFI_Error_Destroy_Args args{};
  args.struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Error_Destroy_Args, error);
  args.error = error;
  api.Error_Destroy(&args);
}

}  // namespace farcall::pjrt
