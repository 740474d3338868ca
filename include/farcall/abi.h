/* The XLA FFI binary interface as plain C: what a handler and a runtime hand each other.
 *
 * Stands alone (C11 or C++17, <stddef.h> and <stdint.h> only). The layouts are those of interface
 * version 0.5 and serve 0.0 to 0.5: structs and the function table only ever grew at their end, and
 * each table slot kept its place. Names are the interface's own with the prefix FARCALL_FFI_, so
 * that this header and XLA's can be included side by side. docs/abi.md has the history of the
 * versions.
 *
 * Every struct begins with `struct_size` and, but for metadata, with a list of extensions. "out"
 * marks a field that the callee writes, "in-out" one that it may write. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define FARCALL_FFI_API_MAJOR 0
#define FARCALL_FFI_API_MINOR 5

/* Bytes of `type` up to the end of `last_field`: what goes into struct_size. */
#define FARCALL_FFI_STRUCT_SIZE(type, last_field) \
  (offsetof(type, last_field) + sizeof(((type*)0)->last_field))

/* In C++ an enumeration needs a fixed type for a reader to look at a number that it does not know.
 */
#ifdef __cplusplus
#define FARCALL_FFI_ENUM enum : int
#else
#define FARCALL_FFI_ENUM enum
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- opaque types ------------------------------------------------------------------------- */

typedef struct FARCALL_FFI_Api FARCALL_FFI_Api;
typedef struct FARCALL_FFI_InternalApi FARCALL_FFI_InternalApi;
typedef struct FARCALL_FFI_Error FARCALL_FFI_Error;
typedef struct FARCALL_FFI_Future FARCALL_FFI_Future;
/* The runtime's side of one call; ExecutionContext up to version 0.3, InvokeContext since. */
typedef struct FARCALL_FFI_ExecutionContext FARCALL_FFI_ExecutionContext;

/* ---- enumerations ------------------------------------------------------------------------- */

typedef FARCALL_FFI_ENUM{FARCALL_FFI_Error_Code_OK = 0,
                         FARCALL_FFI_Error_Code_CANCELLED = 1,
                         FARCALL_FFI_Error_Code_UNKNOWN = 2,
                         FARCALL_FFI_Error_Code_INVALID_ARGUMENT = 3,
                         FARCALL_FFI_Error_Code_DEADLINE_EXCEEDED = 4,
                         FARCALL_FFI_Error_Code_NOT_FOUND = 5,
                         FARCALL_FFI_Error_Code_ALREADY_EXISTS = 6,
                         FARCALL_FFI_Error_Code_PERMISSION_DENIED = 7,
                         FARCALL_FFI_Error_Code_RESOURCE_EXHAUSTED = 8,
                         FARCALL_FFI_Error_Code_FAILED_PRECONDITION = 9,
                         FARCALL_FFI_Error_Code_ABORTED = 10,
                         FARCALL_FFI_Error_Code_OUT_OF_RANGE = 11,
                         FARCALL_FFI_Error_Code_UNIMPLEMENTED = 12,
                         FARCALL_FFI_Error_Code_INTERNAL = 13,
                         FARCALL_FFI_Error_Code_UNAVAILABLE = 14,
                         FARCALL_FFI_Error_Code_DATA_LOSS = 15,
                         FARCALL_FFI_Error_Code_UNAUTHENTICATED = 16} FARCALL_FFI_Error_Code;

typedef FARCALL_FFI_ENUM{
    FARCALL_FFI_DataType_INVALID = 0,     FARCALL_FFI_DataType_PRED = 1,
    FARCALL_FFI_DataType_S8 = 2,          FARCALL_FFI_DataType_S16 = 3,
    FARCALL_FFI_DataType_S32 = 4,         FARCALL_FFI_DataType_S64 = 5,
    FARCALL_FFI_DataType_U8 = 6,          FARCALL_FFI_DataType_U16 = 7,
    FARCALL_FFI_DataType_U32 = 8,         FARCALL_FFI_DataType_U64 = 9,
    FARCALL_FFI_DataType_F16 = 10,        FARCALL_FFI_DataType_F32 = 11,
    FARCALL_FFI_DataType_F64 = 12,        FARCALL_FFI_DataType_C64 = 15,
    FARCALL_FFI_DataType_BF16 = 16,       FARCALL_FFI_DataType_TOKEN = 17,
    FARCALL_FFI_DataType_C128 = 18,       FARCALL_FFI_DataType_F8E5M2 = 19,
    FARCALL_FFI_DataType_F8E4M3FN = 20,   FARCALL_FFI_DataType_S4 = 21,
    FARCALL_FFI_DataType_U4 = 22,         FARCALL_FFI_DataType_F8E4M3B11FNUZ = 23,
    FARCALL_FFI_DataType_F8E5M2FNUZ = 24, FARCALL_FFI_DataType_F8E4M3FNUZ = 25,
    FARCALL_FFI_DataType_S2 = 26,         FARCALL_FFI_DataType_U2 = 27,
    FARCALL_FFI_DataType_F8E4M3 = 28,     FARCALL_FFI_DataType_F8E3M4 = 29,
    FARCALL_FFI_DataType_S1 = 30,         FARCALL_FFI_DataType_U1 = 31,
    FARCALL_FFI_DataType_F4E2M1FN = 32,   FARCALL_FFI_DataType_F8E8M0FNU = 33} FARCALL_FFI_DataType;

typedef FARCALL_FFI_ENUM{FARCALL_FFI_ArgType_BUFFER = 1} FARCALL_FFI_ArgType;
typedef FARCALL_FFI_ENUM{FARCALL_FFI_RetType_BUFFER = 1} FARCALL_FFI_RetType;

typedef FARCALL_FFI_ENUM{
    FARCALL_FFI_AttrType_ARRAY = 1,      /* attrs[i] is a FARCALL_FFI_Array* */
    FARCALL_FFI_AttrType_DICTIONARY = 2, /* attrs[i] is a FARCALL_FFI_Attrs* */
    FARCALL_FFI_AttrType_SCALAR = 3,     /* attrs[i] is a FARCALL_FFI_Scalar* */
    FARCALL_FFI_AttrType_STRING = 4      /* attrs[i] is a FARCALL_FFI_ByteSpan* */
} FARCALL_FFI_AttrType;

typedef FARCALL_FFI_ENUM{
    FARCALL_FFI_ExecutionStage_INSTANTIATE = 0, /* once per executable; attributes only */
    FARCALL_FFI_ExecutionStage_PREPARE = 1,     /* once per execution */
    FARCALL_FFI_ExecutionStage_INITIALIZE = 2,  /* once per execution, after prepare */
    FARCALL_FFI_ExecutionStage_EXECUTE = 3,     /* each call */
    FARCALL_FFI_ExecutionStage_RECORD = 4       /* while a device command buffer is recorded */
} FARCALL_FFI_ExecutionStage;

typedef FARCALL_FFI_ENUM{FARCALL_FFI_Extension_Metadata = 1} FARCALL_FFI_InternalExtension_Type;

enum { FARCALL_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE = 1u << 0 };
typedef uint32_t FARCALL_FFI_Handler_Traits;

/* ---- extensions --------------------------------------------------------------------------- */

/* The interface's own extensions; metadata is the only one. Version 0.0 has a null pointer here. */
typedef struct FARCALL_FFI_InternalExtension {
  size_t struct_size;
  FARCALL_FFI_InternalExtension_Type type;
  struct FARCALL_FFI_InternalExtension* next;
} FARCALL_FFI_InternalExtension;

/* Anybody's extension of an execution context, found by its 64-bit type; since version 0.4. */
typedef struct FARCALL_FFI_ExtensionId {
  int64_t extension_type;
  int32_t major_version;
  int32_t minor_version;
} FARCALL_FFI_ExtensionId;

typedef struct FARCALL_FFI_Extension {
  size_t struct_size;
  FARCALL_FFI_ExtensionId id;
  const struct FARCALL_FFI_Extension* next;
} FARCALL_FFI_Extension;

/* ---- values ------------------------------------------------------------------------------- */

typedef struct FARCALL_FFI_Api_Version {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  int major_version; /* out */
  int minor_version; /* out */
} FARCALL_FFI_Api_Version;

/* Not null-terminated. */
typedef struct FARCALL_FFI_ByteSpan {
  const char* ptr;
  size_t len; /* bytes */
} FARCALL_FFI_ByteSpan;

typedef struct FARCALL_FFI_Scalar {
  FARCALL_FFI_DataType dtype;
  void* value;
} FARCALL_FFI_Scalar;

typedef struct FARCALL_FFI_Array {
  FARCALL_FFI_DataType dtype;
  size_t size; /* elements */
  void* data;
} FARCALL_FFI_Array;

typedef struct FARCALL_FFI_Buffer {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  FARCALL_FFI_DataType dtype;
  void* data;
  int64_t rank;
  int64_t* dims; /* length == rank */
} FARCALL_FFI_Buffer;

typedef struct FARCALL_FFI_TypeId {
  int64_t type_id; /* 0: not known yet */
} FARCALL_FFI_TypeId;

/* Since version 0.2. Version 0.1 (jaxlib 0.8) has a type info of one field, the deleter. */
typedef struct FARCALL_FFI_TypeInfo {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  void (*deleter)(void* object);
} FARCALL_FFI_TypeInfo;

/* ---- the call frame ----------------------------------------------------------------------- */

typedef struct FARCALL_FFI_Args {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  int64_t size;
  FARCALL_FFI_ArgType* types; /* length == size */
  void** args;                /* length == size, each a FARCALL_FFI_Buffer* */
} FARCALL_FFI_Args;

typedef struct FARCALL_FFI_Rets {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  int64_t size;
  FARCALL_FFI_RetType* types; /* length == size */
  void** rets;                /* length == size, each a FARCALL_FFI_Buffer* */
} FARCALL_FFI_Rets;

/* Sorted by name, bytewise. */
typedef struct FARCALL_FFI_Attrs {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  int64_t size;
  FARCALL_FFI_AttrType* types;  /* length == size */
  FARCALL_FFI_ByteSpan** names; /* length == size */
  void** attrs;                 /* length == size */
} FARCALL_FFI_Attrs;

/* struct_size counts up to and including `attrs` in every version; `future` follows it since 0.1.
 */
typedef struct FARCALL_FFI_CallFrame {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  const FARCALL_FFI_Api* api;
  FARCALL_FFI_ExecutionContext* ctx;
  FARCALL_FFI_ExecutionStage stage;
  FARCALL_FFI_Args args;
  FARCALL_FFI_Rets rets;
  FARCALL_FFI_Attrs attrs;
  FARCALL_FFI_Future* future; /* out: null when the call is done on return */
} FARCALL_FFI_CallFrame;

/* Null means success. The caller destroys the error. */
typedef FARCALL_FFI_Error* FARCALL_FFI_Handler(FARCALL_FFI_CallFrame* call_frame);

/* Carries no size: four pointers up to version 0.3, five since 0.4. */
typedef struct FARCALL_FFI_Handler_Bundle {
  FARCALL_FFI_Handler* instantiate; /* optional */
  FARCALL_FFI_Handler* prepare;     /* optional */
  FARCALL_FFI_Handler* initialize;  /* optional */
  FARCALL_FFI_Handler* execute;
  FARCALL_FFI_Handler* record; /* optional, since 0.4 */
} FARCALL_FFI_Handler_Bundle;

/* ---- metadata query: a frame whose extension list holds this one asks, and calls nothing ---- */

typedef struct FARCALL_FFI_Metadata {
  size_t struct_size;                  /* 36 in every version: never counts state_type_id */
  FARCALL_FFI_Api_Version api_version; /* out */
  FARCALL_FFI_Handler_Traits traits;   /* out */
  /* out: type of the state that the stage makes. Since jaxlib 0.8 (interface 0.1); a handler knows
   * only from a runtime of 0.2 or later that the field is there. */
  FARCALL_FFI_TypeId state_type_id;
} FARCALL_FFI_Metadata;

typedef struct FARCALL_FFI_Metadata_Extension {
  FARCALL_FFI_InternalExtension extension_base;
  FARCALL_FFI_Metadata* metadata;
} FARCALL_FFI_Metadata_Extension;

/* ---- functions of the runtime ------------------------------------------------------------- */

typedef struct FARCALL_FFI_Error_Create_Args {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  const char* message; /* null-terminated, copied */
  FARCALL_FFI_Error_Code errc;
} FARCALL_FFI_Error_Create_Args;
typedef FARCALL_FFI_Error* FARCALL_FFI_Error_Create(FARCALL_FFI_Error_Create_Args* args);

/* GetMessage up to version 0.3; errc is written only where struct_size covers it. */
typedef struct FARCALL_FFI_Error_GetDetails_Args {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  FARCALL_FFI_Error* error;
  const char* message;         /* out: lives as long as the error */
  FARCALL_FFI_Error_Code errc; /* out, since 0.4 */
} FARCALL_FFI_Error_GetDetails_Args;
typedef void FARCALL_FFI_Error_GetDetails(FARCALL_FFI_Error_GetDetails_Args* args);

typedef struct FARCALL_FFI_Error_Destroy_Args {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  FARCALL_FFI_Error* error;
} FARCALL_FFI_Error_Destroy_Args;
typedef void FARCALL_FFI_Error_Destroy(FARCALL_FFI_Error_Destroy_Args* args);

typedef struct FARCALL_FFI_Handler_Register_Args {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  FARCALL_FFI_ByteSpan name;
  FARCALL_FFI_ByteSpan platform;
  FARCALL_FFI_Handler_Bundle
      bundle; /* four pointers up to 0.3: `traits` then lies 8 bytes earlier */
  FARCALL_FFI_Handler_Traits traits;
} FARCALL_FFI_Handler_Register_Args;
typedef FARCALL_FFI_Error* FARCALL_FFI_Handler_Register(FARCALL_FFI_Handler_Register_Args* args);

typedef struct FARCALL_FFI_Stream_Get_Args {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  FARCALL_FFI_ExecutionContext* ctx;
  void* stream; /* out: cudaStream_t on CUDA */
} FARCALL_FFI_Stream_Get_Args;
typedef FARCALL_FFI_Error* FARCALL_FFI_Stream_Get(FARCALL_FFI_Stream_Get_Args* args);

/* TypeId_Register up to version 0.1, without type_info. A type_id of 0 asks for a fresh id.
 * struct_size counts up to type_id in every version, 40. */
typedef struct FARCALL_FFI_Type_Register_Args {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  FARCALL_FFI_ByteSpan name;
  FARCALL_FFI_TypeId* type_id;           /* in-out */
  const FARCALL_FFI_TypeInfo* type_info; /* since 0.2 */
} FARCALL_FFI_Type_Register_Args;
typedef FARCALL_FFI_Error* FARCALL_FFI_Type_Register(FARCALL_FFI_Type_Register_Args* args);

typedef struct FARCALL_FFI_ExecutionContext_Get_Args {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  FARCALL_FFI_ExecutionContext* ctx;
  FARCALL_FFI_TypeId* type_id;
  void* data; /* out */
} FARCALL_FFI_ExecutionContext_Get_Args;
typedef FARCALL_FFI_Error* FARCALL_FFI_ExecutionContext_Get(
    FARCALL_FFI_ExecutionContext_Get_Args* args);

/* Three layouts. 0.0 and 0.1: type_id, state, deleter (48 bytes). 0.2: type_id, state (40).
 * 0.3 and later: this one (48). Only the handler's own version tells the first from the last. */
typedef struct FARCALL_FFI_State_Set_Args {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  FARCALL_FFI_ExecutionContext* ctx;
  FARCALL_FFI_ExecutionStage stage;
  FARCALL_FFI_TypeId* type_id;
  void* state;
} FARCALL_FFI_State_Set_Args;

typedef struct FARCALL_FFI_State_Set_Args_0_1 {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  FARCALL_FFI_ExecutionContext* ctx;
  FARCALL_FFI_TypeId* type_id;
  void* state;
  void (*deleter)(void* state); /* absent in 0.2 */
} FARCALL_FFI_State_Set_Args_0_1;
typedef FARCALL_FFI_Error* FARCALL_FFI_State_Set(FARCALL_FFI_State_Set_Args* args);

/* Two layouts: `stage` came with 0.3. 40 bytes before, 48 since. */
typedef struct FARCALL_FFI_State_Get_Args {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  FARCALL_FFI_ExecutionContext* ctx;
  FARCALL_FFI_ExecutionStage stage;
  FARCALL_FFI_TypeId* type_id;
  void* state; /* out */
} FARCALL_FFI_State_Get_Args;

typedef struct FARCALL_FFI_State_Get_Args_0_1 {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  FARCALL_FFI_ExecutionContext* ctx;
  FARCALL_FFI_TypeId* type_id;
  void* state; /* out */
} FARCALL_FFI_State_Get_Args_0_1;
typedef FARCALL_FFI_Error* FARCALL_FFI_State_Get(FARCALL_FFI_State_Get_Args* args);

typedef struct FARCALL_FFI_DeviceMemory_Allocate_Args {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  FARCALL_FFI_ExecutionContext* ctx;
  size_t size;      /* bytes */
  size_t alignment; /* bytes, a power of two */
  void* data;       /* out */
} FARCALL_FFI_DeviceMemory_Allocate_Args;
typedef FARCALL_FFI_Error* FARCALL_FFI_DeviceMemory_Allocate(
    FARCALL_FFI_DeviceMemory_Allocate_Args* args);

typedef struct FARCALL_FFI_DeviceMemory_Free_Args {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  FARCALL_FFI_ExecutionContext* ctx;
  size_t size; /* bytes */
  void* data;
} FARCALL_FFI_DeviceMemory_Free_Args;
typedef FARCALL_FFI_Error* FARCALL_FFI_DeviceMemory_Free(FARCALL_FFI_DeviceMemory_Free_Args* args);

typedef void FARCALL_FFI_Task(void* data);

typedef struct FARCALL_FFI_ThreadPool_Schedule_Args {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  FARCALL_FFI_ExecutionContext* ctx;
  FARCALL_FFI_Task* task;
  void* data;
} FARCALL_FFI_ThreadPool_Schedule_Args;
typedef FARCALL_FFI_Error* FARCALL_FFI_ThreadPool_Schedule(
    FARCALL_FFI_ThreadPool_Schedule_Args* args);

typedef struct FARCALL_FFI_ThreadPool_NumThreads_Args {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  FARCALL_FFI_ExecutionContext* ctx;
  int64_t* num_threads; /* out */
} FARCALL_FFI_ThreadPool_NumThreads_Args;
typedef FARCALL_FFI_Error* FARCALL_FFI_ThreadPool_NumThreads(
    FARCALL_FFI_ThreadPool_NumThreads_Args* args);

/* struct_size counts the first two fields only; `future` is written all the same. */
typedef struct FARCALL_FFI_Future_Create_Args {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  FARCALL_FFI_Future* future; /* out */
} FARCALL_FFI_Future_Create_Args;
typedef FARCALL_FFI_Error* FARCALL_FFI_Future_Create(FARCALL_FFI_Future_Create_Args* args);

typedef struct FARCALL_FFI_Future_SetAvailable_Args {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  FARCALL_FFI_Future* future;
} FARCALL_FFI_Future_SetAvailable_Args;
typedef FARCALL_FFI_Error* FARCALL_FFI_Future_SetAvailable(
    FARCALL_FFI_Future_SetAvailable_Args* args);

typedef struct FARCALL_FFI_Future_SetError_Args {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  FARCALL_FFI_Future* future;
  FARCALL_FFI_Error* error; /* the runtime takes ownership */
} FARCALL_FFI_Future_SetError_Args;
typedef FARCALL_FFI_Error* FARCALL_FFI_Future_SetError(FARCALL_FFI_Future_SetError_Args* args);

typedef struct FARCALL_FFI_RunId_Get_Args {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  FARCALL_FFI_ExecutionContext* ctx;
  int64_t run_id; /* out */
} FARCALL_FFI_RunId_Get_Args;
typedef FARCALL_FFI_Error* FARCALL_FFI_RunId_Get(FARCALL_FFI_RunId_Get_Args* args);

typedef struct FARCALL_FFI_DeviceOrdinal_Get_Args {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  FARCALL_FFI_ExecutionContext* ctx;
  int32_t device_ordinal; /* out */
} FARCALL_FFI_DeviceOrdinal_Get_Args;
typedef FARCALL_FFI_Error* FARCALL_FFI_DeviceOrdinal_Get(FARCALL_FFI_DeviceOrdinal_Get_Args* args);

typedef struct FARCALL_FFI_ExecutionContext_FindExtension_Args {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  FARCALL_FFI_ExecutionContext* ctx;
  int64_t extension_type;
  const FARCALL_FFI_Extension* extension; /* out: null when there is none of this type */
} FARCALL_FFI_ExecutionContext_FindExtension_Args;
typedef FARCALL_FFI_Error* FARCALL_FFI_ExecutionContext_FindExtension(
    FARCALL_FFI_ExecutionContext_FindExtension_Args* args);

typedef struct FARCALL_FFI_CustomOptions_Get_Args {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  FARCALL_FFI_ExecutionContext* ctx;
  const FARCALL_FFI_Attrs* attrs; /* out: never null, empty when no options were given */
} FARCALL_FFI_CustomOptions_Get_Args;
typedef FARCALL_FFI_Error* FARCALL_FFI_CustomOptions_Get(FARCALL_FFI_CustomOptions_Get_Args* args);

/* ---- the function table ------------------------------------------------------------------- */

struct FARCALL_FFI_Api {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  FARCALL_FFI_Api_Version api_version;
  const FARCALL_FFI_InternalApi* internal_api; /* null in farcall's runtime */

  /* 0.0 */
  FARCALL_FFI_Error_Create* Error_Create;
  FARCALL_FFI_Error_GetDetails* Error_GetDetails;
  FARCALL_FFI_Error_Destroy* Error_Destroy;
  FARCALL_FFI_Handler_Register* Handler_Register;
  FARCALL_FFI_Stream_Get* Stream_Get;
  FARCALL_FFI_Type_Register* Type_Register;
  FARCALL_FFI_ExecutionContext_Get* ExecutionContext_Get;
  FARCALL_FFI_State_Set* State_Set;
  FARCALL_FFI_State_Get* State_Get;
  FARCALL_FFI_DeviceMemory_Allocate* DeviceMemory_Allocate;
  FARCALL_FFI_DeviceMemory_Free* DeviceMemory_Free;
  /* 0.1 (jaxlib 0.5) */
  FARCALL_FFI_ThreadPool_Schedule* ThreadPool_Schedule;
  FARCALL_FFI_ThreadPool_NumThreads* ThreadPool_NumThreads;
  FARCALL_FFI_Future_Create* Future_Create;
  FARCALL_FFI_Future_SetAvailable* Future_SetAvailable;
  FARCALL_FFI_Future_SetError* Future_SetError;
  FARCALL_FFI_RunId_Get* RunId_Get;
  /* 0.1 (jaxlib 0.6) */
  FARCALL_FFI_DeviceOrdinal_Get* DeviceOrdinal_Get;
  /* 0.4 */
  FARCALL_FFI_ExecutionContext_FindExtension* ExecutionContext_FindExtension;
  /* 0.5 */
  FARCALL_FFI_CustomOptions_Get* CustomOptions_Get;
};

#ifdef __cplusplus
}
#endif
