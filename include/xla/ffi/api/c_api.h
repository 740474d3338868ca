/* The XLA FFI binary interface under XLA's own names, for code that includes this file.
 *
 * Plain C (C11 or C++17), interface version 0.5. The layouts are those of farcall/abi.h, which
 * documents each struct; docs/abi.md has the history. farcall's own headers do not need this
 * file. */
#ifndef FARCALL_XLA_C_API_H_
#define FARCALL_XLA_C_API_H_

#ifdef XLA_FFI_API_C_API_H_
#error \
    "XLA's own xla/ffi/api/c_api.h came before farcall's: put one include folder of the two on the path"
#endif
#define XLA_FFI_API_C_API_H_ /* makes XLA's own file empty if it is included later */

#include <stddef.h>
#include <stdint.h>

#define XLA_FFI_API_MAJOR 0
#define XLA_FFI_API_MINOR 5

/* Bytes of a struct up to the end of `last_field`: the value for struct_size. */
#define XLA_FFI_STRUCT_SIZE(struct_type, last_field) \
  (offsetof(struct_type, last_field) + sizeof(((struct_type*)0)->last_field))

/* After `struct sname {...};`: defines the typedef `sname` and the constant sname_STRUCT_SIZE. */
#define XLA_FFI_DEFINE_STRUCT_TRAITS(sname, last_field) \
  typedef struct sname sname;                           \
  enum { sname##_STRUCT_SIZE = XLA_FFI_STRUCT_SIZE(sname, last_field) }

/* In C++ unknown values are valid only for an enumeration with a fixed underlying type. */
#ifdef __cplusplus
#define FARCALL_XLA_ENUM enum : int
#define FARCALL_XLA_TYPE(name) ::name /* for the table, where a field has the name of its type */
extern "C" {
#else
#define FARCALL_XLA_ENUM enum
#define FARCALL_XLA_TYPE(name) name
#endif

/* ---- opaque types ------------------------------------------------------------------------- */

typedef struct XLA_FFI_Api XLA_FFI_Api;
typedef struct XLA_FFI_InternalApi XLA_FFI_InternalApi;
typedef struct XLA_FFI_Error XLA_FFI_Error;
typedef struct XLA_FFI_Future XLA_FFI_Future;

typedef struct XLA_FFI_InvokeContext XLA_FFI_InvokeContext;
typedef XLA_FFI_InvokeContext XLA_FFI_ExecutionContext; /* its name up to 0.3 */

/* ---- enumerations ------------------------------------------------------------------------- */

typedef FARCALL_XLA_ENUM{XLA_FFI_Error_Code_OK = 0,
                         XLA_FFI_Error_Code_CANCELLED = 1,
                         XLA_FFI_Error_Code_UNKNOWN = 2,
                         XLA_FFI_Error_Code_INVALID_ARGUMENT = 3,
                         XLA_FFI_Error_Code_DEADLINE_EXCEEDED = 4,
                         XLA_FFI_Error_Code_NOT_FOUND = 5,
                         XLA_FFI_Error_Code_ALREADY_EXISTS = 6,
                         XLA_FFI_Error_Code_PERMISSION_DENIED = 7,
                         XLA_FFI_Error_Code_RESOURCE_EXHAUSTED = 8,
                         XLA_FFI_Error_Code_FAILED_PRECONDITION = 9,
                         XLA_FFI_Error_Code_ABORTED = 10,
                         XLA_FFI_Error_Code_OUT_OF_RANGE = 11,
                         XLA_FFI_Error_Code_UNIMPLEMENTED = 12,
                         XLA_FFI_Error_Code_INTERNAL = 13,
                         XLA_FFI_Error_Code_UNAVAILABLE = 14,
                         XLA_FFI_Error_Code_DATA_LOSS = 15,
                         XLA_FFI_Error_Code_UNAUTHENTICATED = 16} XLA_FFI_Error_Code;

typedef FARCALL_XLA_ENUM{
    XLA_FFI_DataType_INVALID = 0,     XLA_FFI_DataType_PRED = 1,
    XLA_FFI_DataType_S8 = 2,          XLA_FFI_DataType_S16 = 3,
    XLA_FFI_DataType_S32 = 4,         XLA_FFI_DataType_S64 = 5,
    XLA_FFI_DataType_U8 = 6,          XLA_FFI_DataType_U16 = 7,
    XLA_FFI_DataType_U32 = 8,         XLA_FFI_DataType_U64 = 9,
    XLA_FFI_DataType_F16 = 10,        XLA_FFI_DataType_F32 = 11,
    XLA_FFI_DataType_F64 = 12,        XLA_FFI_DataType_C64 = 15,
    XLA_FFI_DataType_BF16 = 16,       XLA_FFI_DataType_TOKEN = 17,
    XLA_FFI_DataType_C128 = 18,       XLA_FFI_DataType_F8E5M2 = 19,
    XLA_FFI_DataType_F8E4M3FN = 20,   XLA_FFI_DataType_S4 = 21,
    XLA_FFI_DataType_U4 = 22,         XLA_FFI_DataType_F8E4M3B11FNUZ = 23,
    XLA_FFI_DataType_F8E5M2FNUZ = 24, XLA_FFI_DataType_F8E4M3FNUZ = 25,
    XLA_FFI_DataType_S2 = 26,         XLA_FFI_DataType_U2 = 27,
    XLA_FFI_DataType_F8E4M3 = 28,     XLA_FFI_DataType_F8E3M4 = 29,
    XLA_FFI_DataType_S1 = 30,         XLA_FFI_DataType_U1 = 31,
    XLA_FFI_DataType_F4E2M1FN = 32,   XLA_FFI_DataType_F8E8M0FNU = 33} XLA_FFI_DataType;

typedef FARCALL_XLA_ENUM{XLA_FFI_ArgType_BUFFER = 1} XLA_FFI_ArgType;
typedef FARCALL_XLA_ENUM{XLA_FFI_RetType_BUFFER = 1} XLA_FFI_RetType;

typedef FARCALL_XLA_ENUM{XLA_FFI_AttrType_ARRAY = 1, XLA_FFI_AttrType_DICTIONARY = 2,
                         XLA_FFI_AttrType_SCALAR = 3, XLA_FFI_AttrType_STRING = 4} XLA_FFI_AttrType;

typedef FARCALL_XLA_ENUM{XLA_FFI_ExecutionStage_INSTANTIATE = 0, XLA_FFI_ExecutionStage_PREPARE = 1,
                         XLA_FFI_ExecutionStage_INITIALIZE = 2, XLA_FFI_ExecutionStage_EXECUTE = 3,
                         XLA_FFI_ExecutionStage_RECORD = 4} XLA_FFI_ExecutionStage;

typedef FARCALL_XLA_ENUM{XLA_FFI_Extension_Metadata = 1} XLA_FFI_InternalExtension_Type;

enum XLA_FFI_Handler_TraitsBits { XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE = 1u << 0 };
typedef uint32_t XLA_FFI_Handler_Traits;

/* ---- extensions --------------------------------------------------------------------------- */

struct XLA_FFI_InternalExtension {
  size_t struct_size;
  XLA_FFI_InternalExtension_Type type;
  struct XLA_FFI_InternalExtension* next;
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_InternalExtension, next);

struct XLA_FFI_ExtensionId {
  int64_t extension_type;
  int32_t major_version;
  int32_t minor_version;
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_ExtensionId, minor_version);

struct XLA_FFI_Extension {
  size_t struct_size;
  XLA_FFI_ExtensionId id;
  const struct XLA_FFI_Extension* next;
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Extension, next);

/* ---- values ------------------------------------------------------------------------------- */

struct XLA_FFI_Api_Version {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  int major_version; /* out */
  int minor_version; /* out */
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Api_Version, minor_version);

typedef struct XLA_FFI_ByteSpan {
  const char* ptr;
  size_t len; /* bytes */
} XLA_FFI_ByteSpan;

typedef struct XLA_FFI_Scalar {
  XLA_FFI_DataType dtype;
  void* value;
} XLA_FFI_Scalar;

typedef struct XLA_FFI_Array {
  XLA_FFI_DataType dtype;
  size_t size;
  void* data;
} XLA_FFI_Array;

struct XLA_FFI_Buffer {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  XLA_FFI_DataType dtype;
  void* data;
  int64_t rank;
  int64_t* dims; /* length == rank */
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Buffer, dims);

typedef struct XLA_FFI_TypeId {
  int64_t type_id; /* 0: not known yet */
} XLA_FFI_TypeId;
#define XLA_FFI_UNKNOWN_TYPE_ID \
  XLA_FFI_TypeId { 0 }

struct XLA_FFI_TypeInfo {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  void (*deleter)(void* object);
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_TypeInfo, deleter);

/* ---- the call frame ----------------------------------------------------------------------- */

struct XLA_FFI_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  int64_t size;
  XLA_FFI_ArgType* types; /* length == size */
  void** args;            /* length == size, each a XLA_FFI_Buffer* */
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Args, args);

struct XLA_FFI_Rets {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  int64_t size;
  XLA_FFI_RetType* types; /* length == size */
  void** rets;            /* length == size, each a XLA_FFI_Buffer* */
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Rets, rets);

struct XLA_FFI_Attrs {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  int64_t size;
  XLA_FFI_AttrType* types;  /* length == size */
  XLA_FFI_ByteSpan** names; /* length == size */
  void** attrs;             /* length == size */
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Attrs, attrs);

struct XLA_FFI_CallFrame {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  const XLA_FFI_Api* api;
  XLA_FFI_InvokeContext* ctx;
  XLA_FFI_ExecutionStage stage;
  XLA_FFI_Args args;
  XLA_FFI_Rets rets;
  XLA_FFI_Attrs attrs;
  XLA_FFI_Future* future; /* out: null if the call is done on return */
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_CallFrame, attrs);

typedef XLA_FFI_Error* XLA_FFI_Handler(XLA_FFI_CallFrame* call_frame);

typedef struct XLA_FFI_Handler_Bundle {
  XLA_FFI_Handler* instantiate; /* optional */
  XLA_FFI_Handler* prepare;     /* optional */
  XLA_FFI_Handler* initialize;  /* optional */
  XLA_FFI_Handler* execute;
  XLA_FFI_Handler* record; /* optional */
} XLA_FFI_Handler_Bundle;

/* ---- metadata query: a frame with this extension queries the handler, and does not call it -- */

struct XLA_FFI_Metadata {
  size_t struct_size;
  XLA_FFI_Api_Version api_version; /* out */
  XLA_FFI_Handler_Traits traits;   /* out */

  XLA_FFI_TypeId state_type_id;
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Metadata, traits);

struct XLA_FFI_Metadata_Extension {
  XLA_FFI_InternalExtension extension_base;
  XLA_FFI_Metadata* metadata;
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Metadata_Extension, metadata);

/* ---- functions of the runtime ------------------------------------------------------------- */

struct XLA_FFI_Error_Create_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  const char* message;
  XLA_FFI_Error_Code errc;
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Error_Create_Args, errc);
typedef XLA_FFI_Error* XLA_FFI_Error_Create(XLA_FFI_Error_Create_Args* args);

struct XLA_FFI_Error_GetDetails_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  XLA_FFI_Error* error;
  const char* message;     /* out: lives as long as the error */
  XLA_FFI_Error_Code errc; /* out */
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Error_GetDetails_Args, errc);
typedef void XLA_FFI_Error_GetDetails(XLA_FFI_Error_GetDetails_Args* args);

/* The form up to 0.3, in the same slot. */
struct XLA_FFI_Error_GetMessage_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  XLA_FFI_Error* error;
  const char* message; /* out: lives as long as the error */
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Error_GetMessage_Args, message);
typedef void XLA_FFI_Error_GetMessage(XLA_FFI_Error_GetMessage_Args* args);

struct XLA_FFI_Error_Destroy_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  XLA_FFI_Error* error;
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Error_Destroy_Args, error);
typedef void XLA_FFI_Error_Destroy(XLA_FFI_Error_Destroy_Args* args);

struct XLA_FFI_Handler_Register_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  XLA_FFI_ByteSpan name;
  XLA_FFI_ByteSpan platform;
  XLA_FFI_Handler_Bundle bundle;
  XLA_FFI_Handler_Traits traits;
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Handler_Register_Args, traits);
typedef XLA_FFI_Error* XLA_FFI_Handler_Register(XLA_FFI_Handler_Register_Args* args);

struct XLA_FFI_Stream_Get_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  XLA_FFI_InvokeContext* ctx;
  void* stream; /* out: cudaStream_t on CUDA */
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Stream_Get_Args, stream);
typedef XLA_FFI_Error* XLA_FFI_Stream_Get(XLA_FFI_Stream_Get_Args* args);

struct XLA_FFI_Type_Register_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  XLA_FFI_ByteSpan name;
  XLA_FFI_TypeId* type_id; /* in-out */
  const XLA_FFI_TypeInfo* type_info;
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Type_Register_Args, type_id);
typedef XLA_FFI_Error* XLA_FFI_Type_Register(XLA_FFI_Type_Register_Args* args);

struct XLA_FFI_InvokeContext_Get_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  XLA_FFI_InvokeContext* ctx;
  XLA_FFI_TypeId* type_id;
  void* data; /* out */
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_InvokeContext_Get_Args, data);
typedef XLA_FFI_Error* XLA_FFI_InvokeContext_Get(XLA_FFI_InvokeContext_Get_Args* args);

/* The names of these up to 0.3. */
typedef XLA_FFI_InvokeContext_Get_Args XLA_FFI_ExecutionContext_Get_Args;
enum { XLA_FFI_ExecutionContext_Get_Args_STRUCT_SIZE = XLA_FFI_InvokeContext_Get_Args_STRUCT_SIZE };

struct XLA_FFI_State_Set_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  XLA_FFI_InvokeContext* ctx;
  XLA_FFI_ExecutionStage stage;
  XLA_FFI_TypeId* type_id;
  void* state;
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_State_Set_Args, state);

typedef XLA_FFI_Error* XLA_FFI_State_Set(XLA_FFI_State_Set_Args* args);

struct XLA_FFI_State_Get_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  XLA_FFI_InvokeContext* ctx;
  XLA_FFI_ExecutionStage stage;
  XLA_FFI_TypeId* type_id;
  void* state; /* out */
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_State_Get_Args, state);

typedef XLA_FFI_Error* XLA_FFI_State_Get(XLA_FFI_State_Get_Args* args);

struct XLA_FFI_DeviceMemory_Allocate_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  XLA_FFI_InvokeContext* ctx;
  size_t size;      /* bytes */
  size_t alignment; /* bytes, a power of two */
  void* data;       /* out */
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_DeviceMemory_Allocate_Args, data);
typedef XLA_FFI_Error* XLA_FFI_DeviceMemory_Allocate(XLA_FFI_DeviceMemory_Allocate_Args* args);

struct XLA_FFI_DeviceMemory_Free_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  XLA_FFI_InvokeContext* ctx;
  size_t size; /* bytes */
  void* data;
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_DeviceMemory_Free_Args, data);
typedef XLA_FFI_Error* XLA_FFI_DeviceMemory_Free(XLA_FFI_DeviceMemory_Free_Args* args);

typedef void XLA_FFI_Task(void* data);

struct XLA_FFI_ThreadPool_Schedule_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  XLA_FFI_InvokeContext* ctx;
  XLA_FFI_Task* task;
  void* data;
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_ThreadPool_Schedule_Args, data);
typedef XLA_FFI_Error* XLA_FFI_ThreadPool_Schedule(XLA_FFI_ThreadPool_Schedule_Args* args);

struct XLA_FFI_ThreadPool_NumThreads_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  XLA_FFI_InvokeContext* ctx;
  int64_t* num_threads; /* out */
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_ThreadPool_NumThreads_Args, num_threads);
typedef XLA_FFI_Error* XLA_FFI_ThreadPool_NumThreads(XLA_FFI_ThreadPool_NumThreads_Args* args);

struct XLA_FFI_Future_Create_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  XLA_FFI_Future* future; /* out */
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Future_Create_Args, extension_start);
typedef XLA_FFI_Error* XLA_FFI_Future_Create(XLA_FFI_Future_Create_Args* args);

struct XLA_FFI_Future_SetAvailable_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  XLA_FFI_Future* future;
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Future_SetAvailable_Args, future);
typedef XLA_FFI_Error* XLA_FFI_Future_SetAvailable(XLA_FFI_Future_SetAvailable_Args* args);

struct XLA_FFI_Future_SetError_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  XLA_FFI_Future* future;
  XLA_FFI_Error* error;
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Future_SetError_Args, error);
typedef XLA_FFI_Error* XLA_FFI_Future_SetError(XLA_FFI_Future_SetError_Args* args);

struct XLA_FFI_RunId_Get_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  XLA_FFI_InvokeContext* ctx;
  int64_t run_id; /* out */
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_RunId_Get_Args, run_id);
typedef XLA_FFI_Error* XLA_FFI_RunId_Get(XLA_FFI_RunId_Get_Args* args);

struct XLA_FFI_DeviceOrdinal_Get_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  XLA_FFI_InvokeContext* ctx;
  int32_t device_ordinal; /* out */
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_DeviceOrdinal_Get_Args, device_ordinal);
typedef XLA_FFI_Error* XLA_FFI_DeviceOrdinal_Get(XLA_FFI_DeviceOrdinal_Get_Args* args);

struct XLA_FFI_InvokeContext_FindExtension_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  XLA_FFI_InvokeContext* ctx;
  int64_t extension_type;
  const XLA_FFI_Extension* extension; /* out: null if there is none of this type */
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_InvokeContext_FindExtension_Args, extension);
typedef XLA_FFI_Error* XLA_FFI_InvokeContext_FindExtension(
    XLA_FFI_InvokeContext_FindExtension_Args* args);

struct XLA_FFI_CustomOptions_Get_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  XLA_FFI_InvokeContext* ctx;
  const XLA_FFI_Attrs* attrs; /* out: never null, empty without options */
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_CustomOptions_Get_Args, attrs);
typedef XLA_FFI_Error* XLA_FFI_CustomOptions_Get(XLA_FFI_CustomOptions_Get_Args* args);

/* ---- the function table ------------------------------------------------------------------- */

struct XLA_FFI_Api {
  size_t struct_size;
  XLA_FFI_InternalExtension* extension_start;
  XLA_FFI_Api_Version api_version;
  const XLA_FFI_InternalApi* internal_api;
  FARCALL_XLA_TYPE(XLA_FFI_Error_Create) * XLA_FFI_Error_Create;
  union {
    FARCALL_XLA_TYPE(XLA_FFI_Error_GetDetails) * XLA_FFI_Error_GetDetails;
    FARCALL_XLA_TYPE(XLA_FFI_Error_GetMessage) * XLA_FFI_Error_GetMessage;
  };
  FARCALL_XLA_TYPE(XLA_FFI_Error_Destroy) * XLA_FFI_Error_Destroy;
  FARCALL_XLA_TYPE(XLA_FFI_Handler_Register) * XLA_FFI_Handler_Register;
  FARCALL_XLA_TYPE(XLA_FFI_Stream_Get) * XLA_FFI_Stream_Get;
  FARCALL_XLA_TYPE(XLA_FFI_Type_Register) * XLA_FFI_Type_Register;
  union {
    FARCALL_XLA_TYPE(XLA_FFI_InvokeContext_Get) * XLA_FFI_InvokeContext_Get;
    FARCALL_XLA_TYPE(XLA_FFI_InvokeContext_Get) * XLA_FFI_ExecutionContext_Get;
  };
  FARCALL_XLA_TYPE(XLA_FFI_State_Set) * XLA_FFI_State_Set;
  FARCALL_XLA_TYPE(XLA_FFI_State_Get) * XLA_FFI_State_Get;
  FARCALL_XLA_TYPE(XLA_FFI_DeviceMemory_Allocate) * XLA_FFI_DeviceMemory_Allocate;
  FARCALL_XLA_TYPE(XLA_FFI_DeviceMemory_Free) * XLA_FFI_DeviceMemory_Free;
  FARCALL_XLA_TYPE(XLA_FFI_ThreadPool_Schedule) * XLA_FFI_ThreadPool_Schedule;
  FARCALL_XLA_TYPE(XLA_FFI_ThreadPool_NumThreads) * XLA_FFI_ThreadPool_NumThreads;
  FARCALL_XLA_TYPE(XLA_FFI_Future_Create) * XLA_FFI_Future_Create;
  FARCALL_XLA_TYPE(XLA_FFI_Future_SetAvailable) * XLA_FFI_Future_SetAvailable;
  FARCALL_XLA_TYPE(XLA_FFI_Future_SetError) * XLA_FFI_Future_SetError;
  FARCALL_XLA_TYPE(XLA_FFI_RunId_Get) * XLA_FFI_RunId_Get;
  FARCALL_XLA_TYPE(XLA_FFI_DeviceOrdinal_Get) * XLA_FFI_DeviceOrdinal_Get;
  FARCALL_XLA_TYPE(XLA_FFI_InvokeContext_FindExtension) * XLA_FFI_InvokeContext_FindExtension;
  FARCALL_XLA_TYPE(XLA_FFI_CustomOptions_Get) * XLA_FFI_CustomOptions_Get;
};
XLA_FFI_DEFINE_STRUCT_TRAITS(XLA_FFI_Api, XLA_FFI_CustomOptions_Get);

/* The table of a runtime linked into the program. Undefined in a library that a runtime loads. */
const XLA_FFI_Api* XLA_FFI_GetApi(void);

#ifdef __cplusplus
}
#endif
#undef FARCALL_XLA_ENUM
#undef FARCALL_XLA_TYPE

#endif /* FARCALL_XLA_C_API_H_ */
