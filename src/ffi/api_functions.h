// The functions of the table, by subject; api_table.cpp assembles them.
//
// Foreign code calls them with any arguments. Each function checks the size of its arguments before
// reading them, never throws, and reports mistakes as errors.
#pragma once

#include <farcall/abi.h>

namespace farcall::runtime {

// api_errors.cpp: errors and futures
FARCALL_FFI_Error* error_create(FARCALL_FFI_Error_Create_Args* args);
void error_get_details(FARCALL_FFI_Error_GetDetails_Args* args);
void error_destroy(FARCALL_FFI_Error_Destroy_Args* args);
FARCALL_FFI_Error* future_create(FARCALL_FFI_Future_Create_Args* args);
FARCALL_FFI_Error* future_set_available(FARCALL_FFI_Future_SetAvailable_Args* args);
FARCALL_FFI_Error* future_set_error(FARCALL_FFI_Future_SetError_Args* args);

// api_registration.cpp
FARCALL_FFI_Error* handler_register(FARCALL_FFI_Handler_Register_Args* args);
FARCALL_FFI_Error* type_register(FARCALL_FFI_Type_Register_Args* args);
FARCALL_FFI_Error* type_register_0_1(FARCALL_FFI_Type_Register_Args* args);

// api_state.cpp
FARCALL_FFI_Error* state_set(FARCALL_FFI_State_Set_Args* args);
FARCALL_FFI_Error* state_set_0_1(FARCALL_FFI_State_Set_Args* args);
FARCALL_FFI_Error* state_set_0_2(FARCALL_FFI_State_Set_Args* args);
FARCALL_FFI_Error* state_get(FARCALL_FFI_State_Get_Args* args);
FARCALL_FFI_Error* state_get_0_2(FARCALL_FFI_State_Get_Args* args);

// api_context.cpp
FARCALL_FFI_Error* stream_get(FARCALL_FFI_Stream_Get_Args* args);
FARCALL_FFI_Error* user_data_get(FARCALL_FFI_ExecutionContext_Get_Args* args);
FARCALL_FFI_Error* device_memory_allocate(FARCALL_FFI_DeviceMemory_Allocate_Args* args);
FARCALL_FFI_Error* device_memory_free(FARCALL_FFI_DeviceMemory_Free_Args* args);
FARCALL_FFI_Error* thread_pool_schedule(FARCALL_FFI_ThreadPool_Schedule_Args* args);
FARCALL_FFI_Error* thread_pool_num_threads(FARCALL_FFI_ThreadPool_NumThreads_Args* args);
FARCALL_FFI_Error* run_id_get(FARCALL_FFI_RunId_Get_Args* args);
FARCALL_FFI_Error* device_ordinal_get(FARCALL_FFI_DeviceOrdinal_Get_Args* args);
FARCALL_FFI_Error* find_extension(FARCALL_FFI_ExecutionContext_FindExtension_Args* args);
FARCALL_FFI_Error* custom_options_get(FARCALL_FFI_CustomOptions_Get_Args* args);

}  // namespace farcall::runtime
