// The binary interface, frozen. Compiling is the test.
//
// A failing assertion means that the interface changed. Never edit a number here. A new field goes
// to the end of its struct and gets its own line here; then increment FARCALL_FFI_API_MINOR in
// <farcall/abi.h>. A handler must report at least that version before it uses the field.
#include <cstddef>

#include <farcall/abi.h>

static_assert(sizeof(void*) == 8 && sizeof(size_t) == 8,
              "these are the numbers of 64-bit machines");
static_assert(FARCALL_FFI_API_MAJOR == 0 && FARCALL_FFI_API_MINOR == 5);
static_assert(sizeof(FARCALL_FFI_DataType) == 4 && sizeof(FARCALL_FFI_AttrType) == 4);

static_assert(FARCALL_FFI_Error_Code_OK == 0);
static_assert(FARCALL_FFI_Error_Code_CANCELLED == 1);
static_assert(FARCALL_FFI_Error_Code_UNKNOWN == 2);
static_assert(FARCALL_FFI_Error_Code_INVALID_ARGUMENT == 3);
static_assert(FARCALL_FFI_Error_Code_DEADLINE_EXCEEDED == 4);
static_assert(FARCALL_FFI_Error_Code_NOT_FOUND == 5);
static_assert(FARCALL_FFI_Error_Code_ALREADY_EXISTS == 6);
static_assert(FARCALL_FFI_Error_Code_PERMISSION_DENIED == 7);
static_assert(FARCALL_FFI_Error_Code_RESOURCE_EXHAUSTED == 8);
static_assert(FARCALL_FFI_Error_Code_FAILED_PRECONDITION == 9);
static_assert(FARCALL_FFI_Error_Code_ABORTED == 10);
static_assert(FARCALL_FFI_Error_Code_OUT_OF_RANGE == 11);
static_assert(FARCALL_FFI_Error_Code_UNIMPLEMENTED == 12);
static_assert(FARCALL_FFI_Error_Code_INTERNAL == 13);
static_assert(FARCALL_FFI_Error_Code_UNAVAILABLE == 14);
static_assert(FARCALL_FFI_Error_Code_DATA_LOSS == 15);
static_assert(FARCALL_FFI_Error_Code_UNAUTHENTICATED == 16);

static_assert(FARCALL_FFI_DataType_INVALID == 0);
static_assert(FARCALL_FFI_DataType_PRED == 1);
static_assert(FARCALL_FFI_DataType_S8 == 2);
static_assert(FARCALL_FFI_DataType_S16 == 3);
static_assert(FARCALL_FFI_DataType_S32 == 4);
static_assert(FARCALL_FFI_DataType_S64 == 5);
static_assert(FARCALL_FFI_DataType_U8 == 6);
static_assert(FARCALL_FFI_DataType_U16 == 7);
static_assert(FARCALL_FFI_DataType_U32 == 8);
static_assert(FARCALL_FFI_DataType_U64 == 9);
static_assert(FARCALL_FFI_DataType_F16 == 10);
static_assert(FARCALL_FFI_DataType_F32 == 11);
static_assert(FARCALL_FFI_DataType_F64 == 12);
static_assert(FARCALL_FFI_DataType_C64 == 15);
static_assert(FARCALL_FFI_DataType_BF16 == 16);
static_assert(FARCALL_FFI_DataType_TOKEN == 17);
static_assert(FARCALL_FFI_DataType_C128 == 18);
static_assert(FARCALL_FFI_DataType_F8E5M2 == 19);
static_assert(FARCALL_FFI_DataType_F8E4M3FN == 20);
static_assert(FARCALL_FFI_DataType_S4 == 21);
static_assert(FARCALL_FFI_DataType_U4 == 22);
static_assert(FARCALL_FFI_DataType_F8E4M3B11FNUZ == 23);
static_assert(FARCALL_FFI_DataType_F8E5M2FNUZ == 24);
static_assert(FARCALL_FFI_DataType_F8E4M3FNUZ == 25);
static_assert(FARCALL_FFI_DataType_S2 == 26);
static_assert(FARCALL_FFI_DataType_U2 == 27);
static_assert(FARCALL_FFI_DataType_F8E4M3 == 28);
static_assert(FARCALL_FFI_DataType_F8E3M4 == 29);
static_assert(FARCALL_FFI_DataType_S1 == 30);
static_assert(FARCALL_FFI_DataType_U1 == 31);
static_assert(FARCALL_FFI_DataType_F4E2M1FN == 32);
static_assert(FARCALL_FFI_DataType_F8E8M0FNU == 33);

static_assert(FARCALL_FFI_ArgType_BUFFER == 1);

static_assert(FARCALL_FFI_RetType_BUFFER == 1);

static_assert(FARCALL_FFI_AttrType_ARRAY == 1);
static_assert(FARCALL_FFI_AttrType_DICTIONARY == 2);
static_assert(FARCALL_FFI_AttrType_SCALAR == 3);
static_assert(FARCALL_FFI_AttrType_STRING == 4);

static_assert(FARCALL_FFI_ExecutionStage_INSTANTIATE == 0);
static_assert(FARCALL_FFI_ExecutionStage_PREPARE == 1);
static_assert(FARCALL_FFI_ExecutionStage_INITIALIZE == 2);
static_assert(FARCALL_FFI_ExecutionStage_EXECUTE == 3);
static_assert(FARCALL_FFI_ExecutionStage_RECORD == 4);

static_assert(FARCALL_FFI_Extension_Metadata == 1);
static_assert(FARCALL_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE == 1);

static_assert(sizeof(FARCALL_FFI_InternalExtension) == 24);
static_assert(offsetof(FARCALL_FFI_InternalExtension, type) == 8);
static_assert(offsetof(FARCALL_FFI_InternalExtension, next) == 16);

static_assert(sizeof(FARCALL_FFI_ExtensionId) == 16);
static_assert(offsetof(FARCALL_FFI_ExtensionId, extension_type) == 0);
static_assert(offsetof(FARCALL_FFI_ExtensionId, major_version) == 8);
static_assert(offsetof(FARCALL_FFI_ExtensionId, minor_version) == 12);

static_assert(sizeof(FARCALL_FFI_Extension) == 32);
static_assert(offsetof(FARCALL_FFI_Extension, id) == 8);
static_assert(offsetof(FARCALL_FFI_Extension, next) == 24);

static_assert(sizeof(FARCALL_FFI_Api_Version) == 24);
static_assert(offsetof(FARCALL_FFI_Api_Version, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_Api_Version, major_version) == 16);
static_assert(offsetof(FARCALL_FFI_Api_Version, minor_version) == 20);

static_assert(sizeof(FARCALL_FFI_ByteSpan) == 16);
static_assert(offsetof(FARCALL_FFI_ByteSpan, ptr) == 0);
static_assert(offsetof(FARCALL_FFI_ByteSpan, len) == 8);

static_assert(sizeof(FARCALL_FFI_Scalar) == 16);
static_assert(offsetof(FARCALL_FFI_Scalar, dtype) == 0);
static_assert(offsetof(FARCALL_FFI_Scalar, value) == 8);

static_assert(sizeof(FARCALL_FFI_Array) == 24);
static_assert(offsetof(FARCALL_FFI_Array, dtype) == 0);
static_assert(offsetof(FARCALL_FFI_Array, size) == 8);
static_assert(offsetof(FARCALL_FFI_Array, data) == 16);

static_assert(sizeof(FARCALL_FFI_Buffer) == 48);
static_assert(offsetof(FARCALL_FFI_Buffer, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_Buffer, dtype) == 16);
static_assert(offsetof(FARCALL_FFI_Buffer, data) == 24);
static_assert(offsetof(FARCALL_FFI_Buffer, rank) == 32);
static_assert(offsetof(FARCALL_FFI_Buffer, dims) == 40);

static_assert(sizeof(FARCALL_FFI_TypeId) == 8);
static_assert(offsetof(FARCALL_FFI_TypeId, type_id) == 0);

static_assert(sizeof(FARCALL_FFI_TypeInfo) == 24);
static_assert(offsetof(FARCALL_FFI_TypeInfo, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_TypeInfo, deleter) == 16);

static_assert(sizeof(FARCALL_FFI_Args) == 40);
static_assert(offsetof(FARCALL_FFI_Args, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_Args, size) == 16);
static_assert(offsetof(FARCALL_FFI_Args, types) == 24);
static_assert(offsetof(FARCALL_FFI_Args, args) == 32);

static_assert(sizeof(FARCALL_FFI_Rets) == 40);
static_assert(offsetof(FARCALL_FFI_Rets, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_Rets, size) == 16);
static_assert(offsetof(FARCALL_FFI_Rets, types) == 24);
static_assert(offsetof(FARCALL_FFI_Rets, rets) == 32);

static_assert(sizeof(FARCALL_FFI_Attrs) == 48);
static_assert(offsetof(FARCALL_FFI_Attrs, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_Attrs, size) == 16);
static_assert(offsetof(FARCALL_FFI_Attrs, types) == 24);
static_assert(offsetof(FARCALL_FFI_Attrs, names) == 32);
static_assert(offsetof(FARCALL_FFI_Attrs, attrs) == 40);

static_assert(sizeof(FARCALL_FFI_CallFrame) == 176);
static_assert(offsetof(FARCALL_FFI_CallFrame, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_CallFrame, api) == 16);
static_assert(offsetof(FARCALL_FFI_CallFrame, ctx) == 24);
static_assert(offsetof(FARCALL_FFI_CallFrame, stage) == 32);
static_assert(offsetof(FARCALL_FFI_CallFrame, args) == 40);
static_assert(offsetof(FARCALL_FFI_CallFrame, rets) == 80);
static_assert(offsetof(FARCALL_FFI_CallFrame, attrs) == 120);
static_assert(offsetof(FARCALL_FFI_CallFrame, future) == 168);

static_assert(sizeof(FARCALL_FFI_Handler_Bundle) == 40);
static_assert(offsetof(FARCALL_FFI_Handler_Bundle, instantiate) == 0);
static_assert(offsetof(FARCALL_FFI_Handler_Bundle, prepare) == 8);
static_assert(offsetof(FARCALL_FFI_Handler_Bundle, initialize) == 16);
static_assert(offsetof(FARCALL_FFI_Handler_Bundle, execute) == 24);
static_assert(offsetof(FARCALL_FFI_Handler_Bundle, record) == 32);

static_assert(sizeof(FARCALL_FFI_Metadata) == 48);
static_assert(offsetof(FARCALL_FFI_Metadata, api_version) == 8);
static_assert(offsetof(FARCALL_FFI_Metadata, traits) == 32);
static_assert(offsetof(FARCALL_FFI_Metadata, state_type_id) == 40);

static_assert(sizeof(FARCALL_FFI_Metadata_Extension) == 32);
static_assert(offsetof(FARCALL_FFI_Metadata_Extension, extension_base) == 0);
static_assert(offsetof(FARCALL_FFI_Metadata_Extension, metadata) == 24);

static_assert(sizeof(FARCALL_FFI_Error_Create_Args) == 32);
static_assert(offsetof(FARCALL_FFI_Error_Create_Args, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_Error_Create_Args, message) == 16);
static_assert(offsetof(FARCALL_FFI_Error_Create_Args, errc) == 24);

static_assert(sizeof(FARCALL_FFI_Error_GetDetails_Args) == 40);
static_assert(offsetof(FARCALL_FFI_Error_GetDetails_Args, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_Error_GetDetails_Args, error) == 16);
static_assert(offsetof(FARCALL_FFI_Error_GetDetails_Args, message) == 24);
static_assert(offsetof(FARCALL_FFI_Error_GetDetails_Args, errc) == 32);

static_assert(sizeof(FARCALL_FFI_Error_Destroy_Args) == 24);
static_assert(offsetof(FARCALL_FFI_Error_Destroy_Args, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_Error_Destroy_Args, error) == 16);

static_assert(sizeof(FARCALL_FFI_Handler_Register_Args) == 96);
static_assert(offsetof(FARCALL_FFI_Handler_Register_Args, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_Handler_Register_Args, name) == 16);
static_assert(offsetof(FARCALL_FFI_Handler_Register_Args, platform) == 32);
static_assert(offsetof(FARCALL_FFI_Handler_Register_Args, bundle) == 48);
static_assert(offsetof(FARCALL_FFI_Handler_Register_Args, traits) == 88);

static_assert(sizeof(FARCALL_FFI_Stream_Get_Args) == 32);
static_assert(offsetof(FARCALL_FFI_Stream_Get_Args, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_Stream_Get_Args, ctx) == 16);
static_assert(offsetof(FARCALL_FFI_Stream_Get_Args, stream) == 24);

static_assert(sizeof(FARCALL_FFI_Type_Register_Args) == 48);
static_assert(offsetof(FARCALL_FFI_Type_Register_Args, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_Type_Register_Args, name) == 16);
static_assert(offsetof(FARCALL_FFI_Type_Register_Args, type_id) == 32);
static_assert(offsetof(FARCALL_FFI_Type_Register_Args, type_info) == 40);

static_assert(sizeof(FARCALL_FFI_ExecutionContext_Get_Args) == 40);
static_assert(offsetof(FARCALL_FFI_ExecutionContext_Get_Args, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_ExecutionContext_Get_Args, ctx) == 16);
static_assert(offsetof(FARCALL_FFI_ExecutionContext_Get_Args, type_id) == 24);
static_assert(offsetof(FARCALL_FFI_ExecutionContext_Get_Args, data) == 32);

static_assert(sizeof(FARCALL_FFI_State_Set_Args) == 48);
static_assert(offsetof(FARCALL_FFI_State_Set_Args, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_State_Set_Args, ctx) == 16);
static_assert(offsetof(FARCALL_FFI_State_Set_Args, stage) == 24);
static_assert(offsetof(FARCALL_FFI_State_Set_Args, type_id) == 32);
static_assert(offsetof(FARCALL_FFI_State_Set_Args, state) == 40);

static_assert(sizeof(FARCALL_FFI_State_Set_Args_0_1) == 48);
static_assert(offsetof(FARCALL_FFI_State_Set_Args_0_1, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_State_Set_Args_0_1, ctx) == 16);
static_assert(offsetof(FARCALL_FFI_State_Set_Args_0_1, type_id) == 24);
static_assert(offsetof(FARCALL_FFI_State_Set_Args_0_1, state) == 32);
static_assert(offsetof(FARCALL_FFI_State_Set_Args_0_1, deleter) == 40);

static_assert(sizeof(FARCALL_FFI_State_Get_Args) == 48);
static_assert(offsetof(FARCALL_FFI_State_Get_Args, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_State_Get_Args, ctx) == 16);
static_assert(offsetof(FARCALL_FFI_State_Get_Args, stage) == 24);
static_assert(offsetof(FARCALL_FFI_State_Get_Args, type_id) == 32);
static_assert(offsetof(FARCALL_FFI_State_Get_Args, state) == 40);

static_assert(sizeof(FARCALL_FFI_State_Get_Args_0_1) == 40);
static_assert(offsetof(FARCALL_FFI_State_Get_Args_0_1, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_State_Get_Args_0_1, ctx) == 16);
static_assert(offsetof(FARCALL_FFI_State_Get_Args_0_1, type_id) == 24);
static_assert(offsetof(FARCALL_FFI_State_Get_Args_0_1, state) == 32);

static_assert(sizeof(FARCALL_FFI_DeviceMemory_Allocate_Args) == 48);
static_assert(offsetof(FARCALL_FFI_DeviceMemory_Allocate_Args, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_DeviceMemory_Allocate_Args, ctx) == 16);
static_assert(offsetof(FARCALL_FFI_DeviceMemory_Allocate_Args, size) == 24);
static_assert(offsetof(FARCALL_FFI_DeviceMemory_Allocate_Args, alignment) == 32);
static_assert(offsetof(FARCALL_FFI_DeviceMemory_Allocate_Args, data) == 40);

static_assert(sizeof(FARCALL_FFI_DeviceMemory_Free_Args) == 40);
static_assert(offsetof(FARCALL_FFI_DeviceMemory_Free_Args, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_DeviceMemory_Free_Args, ctx) == 16);
static_assert(offsetof(FARCALL_FFI_DeviceMemory_Free_Args, size) == 24);
static_assert(offsetof(FARCALL_FFI_DeviceMemory_Free_Args, data) == 32);

static_assert(sizeof(FARCALL_FFI_ThreadPool_Schedule_Args) == 40);
static_assert(offsetof(FARCALL_FFI_ThreadPool_Schedule_Args, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_ThreadPool_Schedule_Args, ctx) == 16);
static_assert(offsetof(FARCALL_FFI_ThreadPool_Schedule_Args, task) == 24);
static_assert(offsetof(FARCALL_FFI_ThreadPool_Schedule_Args, data) == 32);

static_assert(sizeof(FARCALL_FFI_ThreadPool_NumThreads_Args) == 32);
static_assert(offsetof(FARCALL_FFI_ThreadPool_NumThreads_Args, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_ThreadPool_NumThreads_Args, ctx) == 16);
static_assert(offsetof(FARCALL_FFI_ThreadPool_NumThreads_Args, num_threads) == 24);

static_assert(sizeof(FARCALL_FFI_Future_Create_Args) == 24);
static_assert(offsetof(FARCALL_FFI_Future_Create_Args, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_Future_Create_Args, future) == 16);

static_assert(sizeof(FARCALL_FFI_Future_SetAvailable_Args) == 24);
static_assert(offsetof(FARCALL_FFI_Future_SetAvailable_Args, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_Future_SetAvailable_Args, future) == 16);

static_assert(sizeof(FARCALL_FFI_Future_SetError_Args) == 32);
static_assert(offsetof(FARCALL_FFI_Future_SetError_Args, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_Future_SetError_Args, future) == 16);
static_assert(offsetof(FARCALL_FFI_Future_SetError_Args, error) == 24);

static_assert(sizeof(FARCALL_FFI_RunId_Get_Args) == 32);
static_assert(offsetof(FARCALL_FFI_RunId_Get_Args, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_RunId_Get_Args, ctx) == 16);
static_assert(offsetof(FARCALL_FFI_RunId_Get_Args, run_id) == 24);

static_assert(sizeof(FARCALL_FFI_DeviceOrdinal_Get_Args) == 32);
static_assert(offsetof(FARCALL_FFI_DeviceOrdinal_Get_Args, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_DeviceOrdinal_Get_Args, ctx) == 16);
static_assert(offsetof(FARCALL_FFI_DeviceOrdinal_Get_Args, device_ordinal) == 24);

static_assert(sizeof(FARCALL_FFI_ExecutionContext_FindExtension_Args) == 40);
static_assert(offsetof(FARCALL_FFI_ExecutionContext_FindExtension_Args, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_ExecutionContext_FindExtension_Args, ctx) == 16);
static_assert(offsetof(FARCALL_FFI_ExecutionContext_FindExtension_Args, extension_type) == 24);
static_assert(offsetof(FARCALL_FFI_ExecutionContext_FindExtension_Args, extension) == 32);

static_assert(sizeof(FARCALL_FFI_CustomOptions_Get_Args) == 32);
static_assert(offsetof(FARCALL_FFI_CustomOptions_Get_Args, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_CustomOptions_Get_Args, ctx) == 16);
static_assert(offsetof(FARCALL_FFI_CustomOptions_Get_Args, attrs) == 24);

static_assert(sizeof(FARCALL_FFI_Api) == 208);
static_assert(offsetof(FARCALL_FFI_Api, extension_start) == 8);
static_assert(offsetof(FARCALL_FFI_Api, api_version) == 16);
static_assert(offsetof(FARCALL_FFI_Api, internal_api) == 40);
static_assert(offsetof(FARCALL_FFI_Api, Error_Create) == 48);
static_assert(offsetof(FARCALL_FFI_Api, Error_GetDetails) == 56);
static_assert(offsetof(FARCALL_FFI_Api, Error_Destroy) == 64);
static_assert(offsetof(FARCALL_FFI_Api, Handler_Register) == 72);
static_assert(offsetof(FARCALL_FFI_Api, Stream_Get) == 80);
static_assert(offsetof(FARCALL_FFI_Api, Type_Register) == 88);
static_assert(offsetof(FARCALL_FFI_Api, ExecutionContext_Get) == 96);
static_assert(offsetof(FARCALL_FFI_Api, State_Set) == 104);
static_assert(offsetof(FARCALL_FFI_Api, State_Get) == 112);
static_assert(offsetof(FARCALL_FFI_Api, DeviceMemory_Allocate) == 120);
static_assert(offsetof(FARCALL_FFI_Api, DeviceMemory_Free) == 128);
static_assert(offsetof(FARCALL_FFI_Api, ThreadPool_Schedule) == 136);
static_assert(offsetof(FARCALL_FFI_Api, ThreadPool_NumThreads) == 144);
static_assert(offsetof(FARCALL_FFI_Api, Future_Create) == 152);
static_assert(offsetof(FARCALL_FFI_Api, Future_SetAvailable) == 160);
static_assert(offsetof(FARCALL_FFI_Api, Future_SetError) == 168);
static_assert(offsetof(FARCALL_FFI_Api, RunId_Get) == 176);
static_assert(offsetof(FARCALL_FFI_Api, DeviceOrdinal_Get) == 184);
static_assert(offsetof(FARCALL_FFI_Api, ExecutionContext_FindExtension) == 192);
static_assert(offsetof(FARCALL_FFI_Api, CustomOptions_Get) == 200);
