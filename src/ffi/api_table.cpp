#include <algorithm>

#include <farcall/ffi/stage.h>

#include "ffi/api_functions.h"

namespace farcall {
namespace {

using namespace runtime;  // the functions of the table

constexpr FARCALL_FFI_Api kNewest = {
    .struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Api, CustomOptions_Get),
    .extension_start = nullptr,
    .api_version = {.struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Api_Version, minor_version),
                    .extension_start = nullptr,
                    .major_version = FARCALL_FFI_API_MAJOR,
                    .minor_version = FARCALL_FFI_API_MINOR},
    .internal_api = nullptr,
    .Error_Create = error_create,
    .Error_GetDetails = error_get_details,
    .Error_Destroy = error_destroy,
    .Handler_Register = handler_register,
    .Stream_Get = stream_get,
    .Type_Register = type_register,
    .ExecutionContext_Get = user_data_get,
    .State_Set = state_set,
    .State_Get = state_get,
    .DeviceMemory_Allocate = device_memory_allocate,
    .DeviceMemory_Free = device_memory_free,
    .ThreadPool_Schedule = thread_pool_schedule,
    .ThreadPool_NumThreads = thread_pool_num_threads,
    .Future_Create = future_create,
    .Future_SetAvailable = future_set_available,
    .Future_SetError = future_set_error,
    .RunId_Get = run_id_get,
    .DeviceOrdinal_Get = device_ordinal_get,
    .ExecutionContext_FindExtension = find_extension,
    .CustomOptions_Get = custom_options_get,
};

constexpr FARCALL_FFI_Api table_for(int minor_version) {
  FARCALL_FFI_Api table = kNewest;
  if (minor_version <= 2) {
    table.State_Set = state_set_0_2;
    table.State_Get = state_get_0_2;
  }
  if (minor_version <= 1) {
    table.State_Set = state_set_0_1;
    table.Type_Register = type_register_0_1;
  }
  // Handlers of version 0.0 accept only their own version; later ones accept any runtime that is
  // not older.
  if (minor_version == 0) table.api_version.minor_version = 0;
  return table;
}

constexpr FARCALL_FFI_Api kTables[] = {table_for(0), table_for(1), table_for(2), kNewest};

}  // namespace

const FARCALL_FFI_Api* ffi_api(int minor_version) {
  return &kTables[std::clamp(minor_version, 0, 3)];
}

}  // namespace farcall
