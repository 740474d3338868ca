#include "abi_against_xla.h"

#if XLA_RELEASE >= JAXLIB_0_11_2
#define CONTEXT_GET InvokeContext_Get
#define ERROR_DETAILS Error_GetDetails
#else
#define CONTEXT_GET ExecutionContext_Get
#define ERROR_DETAILS Error_GetMessage
#endif
#if XLA_RELEASE >= JAXLIB_0_9_0
#define TYPE_REGISTER Type_Register
#else
#define TYPE_REGISTER TypeId_Register
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
// SAME_FIELD_AS and SAME_STRUCT_SIZE_AS paste their arguments, so macro names are expanded here
// first.
#define SAME_RENAMED_FIELD(ours, field, theirs) SAME_FIELD_AS(ours, field, theirs, field)
#define SAME_RENAMED_SIZE(ours, field, theirs) SAME_STRUCT_SIZE_AS(ours, field, theirs)

// ---- arguments of the table's functions ----

SAME_SIZE(Error_Create_Args);
SAME_HEAD(Error_Create_Args);
SAME_FIELD(Error_Create_Args, message);
SAME_FIELD(Error_Create_Args, errc);
SAME_STRUCT_SIZE(Error_Create_Args, errc);
SAME_RENAMED_FIELD(Error_GetDetails_Args, error, JOIN(ERROR_DETAILS, _Args));
SAME_RENAMED_FIELD(Error_GetDetails_Args, message, JOIN(ERROR_DETAILS, _Args));
#if XLA_RELEASE >= JAXLIB_0_11_2
SAME_FIELD(Error_GetDetails_Args, errc);
SAME_STRUCT_SIZE(Error_GetDetails_Args, errc);
#else
SAME_RENAMED_SIZE(Error_GetDetails_Args, message, Error_GetMessage_Args);
#endif
SAME_SIZE(Error_Destroy_Args);
SAME_FIELD(Error_Destroy_Args, error);
SAME_STRUCT_SIZE(Error_Destroy_Args, error);

SAME_SIZE(Stream_Get_Args);
SAME_FIELD(Stream_Get_Args, ctx);
SAME_FIELD(Stream_Get_Args, stream);
SAME_STRUCT_SIZE(Stream_Get_Args, stream);

SAME_RENAMED_FIELD(Type_Register_Args, name, JOIN(TYPE_REGISTER, _Args));
SAME_RENAMED_FIELD(Type_Register_Args, type_id, JOIN(TYPE_REGISTER, _Args));
SAME_RENAMED_SIZE(Type_Register_Args, type_id, JOIN(TYPE_REGISTER, _Args));
#if XLA_RELEASE >= JAXLIB_0_9_0
SAME_SIZE(Type_Register_Args);
SAME_FIELD(Type_Register_Args, type_info);
SAME_SIZE(TypeInfo);
SAME_HEAD(TypeInfo);
SAME_FIELD(TypeInfo, deleter);
SAME_STRUCT_SIZE(TypeInfo, deleter);
#elif XLA_RELEASE >= JAXLIB_0_8_0
static_assert(sizeof(XLA_FFI_TypeInfo) == sizeof(void*));
#endif

SAME_RENAMED_FIELD(ExecutionContext_Get_Args, ctx, JOIN(CONTEXT_GET, _Args));
SAME_RENAMED_FIELD(ExecutionContext_Get_Args, type_id, JOIN(CONTEXT_GET, _Args));
SAME_RENAMED_FIELD(ExecutionContext_Get_Args, data, JOIN(CONTEXT_GET, _Args));
SAME_RENAMED_SIZE(ExecutionContext_Get_Args, data, JOIN(CONTEXT_GET, _Args));

// State has three layouts for setting and two for getting.
#if XLA_RELEASE >= JAXLIB_0_10_2
SAME_SIZE(State_Set_Args);
SAME_FIELD(State_Set_Args, ctx);
SAME_FIELD(State_Set_Args, stage);
SAME_FIELD(State_Set_Args, type_id);
SAME_FIELD(State_Set_Args, state);
SAME_STRUCT_SIZE(State_Set_Args, state);
SAME_SIZE(State_Get_Args);
SAME_FIELD(State_Get_Args, ctx);
SAME_FIELD(State_Get_Args, stage);
SAME_FIELD(State_Get_Args, type_id);
SAME_FIELD(State_Get_Args, state);
SAME_STRUCT_SIZE(State_Get_Args, state);
#else
SAME_RENAMED_FIELD(State_Set_Args_0_1, ctx, State_Set_Args);
SAME_RENAMED_FIELD(State_Set_Args_0_1, type_id, State_Set_Args);
SAME_RENAMED_FIELD(State_Set_Args_0_1, state, State_Set_Args);
#if XLA_RELEASE >= JAXLIB_0_9_0
SAME_RENAMED_SIZE(State_Set_Args_0_1, state, State_Set_Args);
#else
SAME_RENAMED_FIELD(State_Set_Args_0_1, deleter, State_Set_Args);
SAME_RENAMED_SIZE(State_Set_Args_0_1, deleter, State_Set_Args);
#endif
static_assert(sizeof(FARCALL_FFI_State_Get_Args_0_1) == sizeof(XLA_FFI_State_Get_Args));
SAME_RENAMED_FIELD(State_Get_Args_0_1, ctx, State_Get_Args);
SAME_RENAMED_FIELD(State_Get_Args_0_1, type_id, State_Get_Args);
SAME_RENAMED_FIELD(State_Get_Args_0_1, state, State_Get_Args);
SAME_RENAMED_SIZE(State_Get_Args_0_1, state, State_Get_Args);
#endif

SAME_SIZE(DeviceMemory_Allocate_Args);
SAME_FIELD(DeviceMemory_Allocate_Args, ctx);
SAME_FIELD(DeviceMemory_Allocate_Args, size);
SAME_FIELD(DeviceMemory_Allocate_Args, alignment);
SAME_FIELD(DeviceMemory_Allocate_Args, data);
SAME_STRUCT_SIZE(DeviceMemory_Allocate_Args, data);
SAME_SIZE(DeviceMemory_Free_Args);
SAME_FIELD(DeviceMemory_Free_Args, ctx);
SAME_FIELD(DeviceMemory_Free_Args, size);
SAME_FIELD(DeviceMemory_Free_Args, data);
SAME_STRUCT_SIZE(DeviceMemory_Free_Args, data);

#if XLA_RELEASE >= JAXLIB_0_5_3
SAME_SIZE(ThreadPool_Schedule_Args);
SAME_FIELD(ThreadPool_Schedule_Args, ctx);
SAME_FIELD(ThreadPool_Schedule_Args, task);
SAME_FIELD(ThreadPool_Schedule_Args, data);
SAME_STRUCT_SIZE(ThreadPool_Schedule_Args, data);
SAME_SIZE(ThreadPool_NumThreads_Args);
SAME_FIELD(ThreadPool_NumThreads_Args, ctx);
SAME_FIELD(ThreadPool_NumThreads_Args, num_threads);
SAME_STRUCT_SIZE(ThreadPool_NumThreads_Args, num_threads);
SAME_SIZE(Future_Create_Args);
SAME_FIELD(Future_Create_Args, future);
SAME_STRUCT_SIZE(Future_Create_Args, extension_start);  // excludes `future` in every release
SAME_SIZE(Future_SetAvailable_Args);
SAME_FIELD(Future_SetAvailable_Args, future);
SAME_STRUCT_SIZE(Future_SetAvailable_Args, future);
SAME_SIZE(Future_SetError_Args);
SAME_FIELD(Future_SetError_Args, future);
SAME_FIELD(Future_SetError_Args, error);
SAME_STRUCT_SIZE(Future_SetError_Args, error);
SAME_SIZE(RunId_Get_Args);
SAME_FIELD(RunId_Get_Args, ctx);
SAME_FIELD(RunId_Get_Args, run_id);
SAME_STRUCT_SIZE(RunId_Get_Args, run_id);
#endif
#if XLA_RELEASE >= JAXLIB_0_6_2
SAME_SIZE(DeviceOrdinal_Get_Args);
SAME_FIELD(DeviceOrdinal_Get_Args, ctx);
SAME_FIELD(DeviceOrdinal_Get_Args, device_ordinal);
SAME_STRUCT_SIZE(DeviceOrdinal_Get_Args, device_ordinal);
#endif
#if XLA_RELEASE >= JAXLIB_0_11_2
SAME_RENAMED_FIELD(ExecutionContext_FindExtension_Args, ctx, InvokeContext_FindExtension_Args);
SAME_RENAMED_FIELD(ExecutionContext_FindExtension_Args, extension_type,
                   InvokeContext_FindExtension_Args);
SAME_RENAMED_FIELD(ExecutionContext_FindExtension_Args, extension,
                   InvokeContext_FindExtension_Args);
SAME_RENAMED_SIZE(ExecutionContext_FindExtension_Args, extension, InvokeContext_FindExtension_Args);
#endif
#if XLA_RELEASE >= JAXLIB_0_12_0_1
SAME_SIZE(CustomOptions_Get_Args);
SAME_FIELD(CustomOptions_Get_Args, ctx);
SAME_FIELD(CustomOptions_Get_Args, attrs);
SAME_STRUCT_SIZE(CustomOptions_Get_Args, attrs);
#endif

// ---- the table: slots never moved ----

#define SAME_SLOT(name) SAME_FIELD_AS(Api, name, Api, XLA_FFI_##name)
#define SAME_SLOT_AS(ours, theirs) SAME_FIELD_AS(Api, ours, Api, JOIN(XLA_FFI_, theirs))
SAME_HEAD(Api);
SAME_FIELD(Api, api_version);
SAME_FIELD(Api, internal_api);
SAME_SLOT(Error_Create);
SAME_SLOT_AS(Error_GetDetails, ERROR_DETAILS);
SAME_SLOT(Error_Destroy);
SAME_SLOT(Handler_Register);
SAME_SLOT(Stream_Get);
SAME_SLOT_AS(Type_Register, TYPE_REGISTER);
SAME_SLOT_AS(ExecutionContext_Get, CONTEXT_GET);
SAME_SLOT(State_Set);
SAME_SLOT(State_Get);
SAME_SLOT(DeviceMemory_Allocate);
SAME_SLOT(DeviceMemory_Free);
#if XLA_RELEASE >= JAXLIB_0_5_3
SAME_SLOT(ThreadPool_Schedule);
SAME_SLOT(ThreadPool_NumThreads);
SAME_SLOT(Future_Create);
SAME_SLOT(Future_SetAvailable);
SAME_SLOT(Future_SetError);
SAME_SLOT(RunId_Get);
#endif
#if XLA_RELEASE >= JAXLIB_0_6_2
SAME_SLOT(DeviceOrdinal_Get);
#endif
#if XLA_RELEASE >= JAXLIB_0_11_2
SAME_SLOT_AS(ExecutionContext_FindExtension, InvokeContext_FindExtension);
#endif
#if XLA_RELEASE >= JAXLIB_0_12_0_1
SAME_SLOT(CustomOptions_Get);
SAME_SIZE(Api);
#endif
