#include "abi_against_xla.h"

// ---- numbers ----

static_assert(FARCALL_FFI_API_MAJOR == XLA_FFI_API_MAJOR);
static_assert(FARCALL_FFI_API_MINOR >= XLA_FFI_API_MINOR);
#if XLA_RELEASE == JAXLIB_0_12_0_1
static_assert(FARCALL_FFI_API_MINOR == XLA_FFI_API_MINOR);
#endif

SAME_VALUE(Error_Code_OK);
SAME_VALUE(Error_Code_CANCELLED);
SAME_VALUE(Error_Code_UNKNOWN);
SAME_VALUE(Error_Code_INVALID_ARGUMENT);
SAME_VALUE(Error_Code_DEADLINE_EXCEEDED);
SAME_VALUE(Error_Code_NOT_FOUND);
SAME_VALUE(Error_Code_ALREADY_EXISTS);
SAME_VALUE(Error_Code_PERMISSION_DENIED);
SAME_VALUE(Error_Code_RESOURCE_EXHAUSTED);
SAME_VALUE(Error_Code_FAILED_PRECONDITION);
SAME_VALUE(Error_Code_ABORTED);
SAME_VALUE(Error_Code_OUT_OF_RANGE);
SAME_VALUE(Error_Code_UNIMPLEMENTED);
SAME_VALUE(Error_Code_INTERNAL);
SAME_VALUE(Error_Code_UNAVAILABLE);
SAME_VALUE(Error_Code_DATA_LOSS);
SAME_VALUE(Error_Code_UNAUTHENTICATED);

SAME_VALUE(DataType_INVALID);
SAME_VALUE(DataType_PRED);
SAME_VALUE(DataType_S8);
SAME_VALUE(DataType_S16);
SAME_VALUE(DataType_S32);
SAME_VALUE(DataType_S64);
SAME_VALUE(DataType_U8);
SAME_VALUE(DataType_U16);
SAME_VALUE(DataType_U32);
SAME_VALUE(DataType_U64);
SAME_VALUE(DataType_F16);
SAME_VALUE(DataType_F32);
SAME_VALUE(DataType_F64);
SAME_VALUE(DataType_C64);
SAME_VALUE(DataType_BF16);
SAME_VALUE(DataType_TOKEN);
SAME_VALUE(DataType_C128);
SAME_VALUE(DataType_F8E5M2);
SAME_VALUE(DataType_F8E4M3FN);
SAME_VALUE(DataType_F8E4M3B11FNUZ);
SAME_VALUE(DataType_F8E5M2FNUZ);
SAME_VALUE(DataType_F8E4M3FNUZ);
#if XLA_RELEASE >= JAXLIB_0_5_3
SAME_VALUE(DataType_F8E4M3);
SAME_VALUE(DataType_F8E3M4);
SAME_VALUE(DataType_F4E2M1FN);
SAME_VALUE(DataType_F8E8M0FNU);
#endif
#if XLA_RELEASE >= JAXLIB_0_6_2
SAME_VALUE(DataType_S1);
SAME_VALUE(DataType_S2);
SAME_VALUE(DataType_S4);
SAME_VALUE(DataType_U1);
SAME_VALUE(DataType_U2);
SAME_VALUE(DataType_U4);
#endif

SAME_VALUE(ArgType_BUFFER);
SAME_VALUE(RetType_BUFFER);
SAME_VALUE(AttrType_ARRAY);
SAME_VALUE(AttrType_DICTIONARY);
SAME_VALUE(AttrType_SCALAR);
SAME_VALUE(AttrType_STRING);
SAME_VALUE(ExecutionStage_INSTANTIATE);
SAME_VALUE(ExecutionStage_PREPARE);
SAME_VALUE(ExecutionStage_INITIALIZE);
SAME_VALUE(ExecutionStage_EXECUTE);
#if XLA_RELEASE >= JAXLIB_0_11_2
SAME_VALUE(ExecutionStage_RECORD);
#endif
SAME_VALUE(HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE);
SAME_SIZE(DataType);
SAME_SIZE(AttrType);
SAME_SIZE(ArgType);
SAME_SIZE(ExecutionStage);
SAME_SIZE(Handler_Traits);

// ---- values and the call frame ----

SAME_SIZE(Api_Version);
SAME_HEAD(Api_Version);
SAME_FIELD(Api_Version, major_version);
SAME_FIELD(Api_Version, minor_version);
SAME_SIZE(ByteSpan);
SAME_FIELD(ByteSpan, ptr);
SAME_FIELD(ByteSpan, len);
SAME_SIZE(Scalar);
SAME_FIELD(Scalar, dtype);
SAME_FIELD(Scalar, value);
SAME_SIZE(Array);
SAME_FIELD(Array, dtype);
SAME_FIELD(Array, size);
SAME_FIELD(Array, data);
SAME_SIZE(TypeId);
SAME_FIELD(TypeId, type_id);

SAME_SIZE(Buffer);
SAME_HEAD(Buffer);
SAME_FIELD(Buffer, dtype);
SAME_FIELD(Buffer, data);
SAME_FIELD(Buffer, rank);
SAME_FIELD(Buffer, dims);
SAME_STRUCT_SIZE(Buffer, dims);
SAME_SIZE(Args);
SAME_HEAD(Args);
SAME_FIELD(Args, size);
SAME_FIELD(Args, types);
SAME_FIELD(Args, args);
SAME_STRUCT_SIZE(Args, args);
SAME_SIZE(Rets);
SAME_HEAD(Rets);
SAME_FIELD(Rets, size);
SAME_FIELD(Rets, types);
SAME_FIELD(Rets, rets);
SAME_STRUCT_SIZE(Rets, rets);
SAME_SIZE(Attrs);
SAME_HEAD(Attrs);
SAME_FIELD(Attrs, size);
SAME_FIELD(Attrs, types);
SAME_FIELD(Attrs, names);
SAME_FIELD(Attrs, attrs);
SAME_STRUCT_SIZE(Attrs, attrs);

SAME_HEAD(CallFrame);
SAME_FIELD(CallFrame, api);
SAME_FIELD(CallFrame, ctx);
SAME_FIELD(CallFrame, stage);
SAME_FIELD(CallFrame, args);
SAME_FIELD(CallFrame, rets);
SAME_FIELD(CallFrame, attrs);
SAME_STRUCT_SIZE(CallFrame, attrs);
#if XLA_RELEASE >= JAXLIB_0_5_3
SAME_SIZE(CallFrame);
SAME_FIELD(CallFrame, future);
#else
static_assert(sizeof(XLA_FFI_CallFrame) == offsetof(FARCALL_FFI_CallFrame, future));
#endif

SAME_FIELD(Handler_Bundle, instantiate);
SAME_FIELD(Handler_Bundle, prepare);
SAME_FIELD(Handler_Bundle, initialize);
SAME_FIELD(Handler_Bundle, execute);
SAME_HEAD(Handler_Register_Args);
SAME_FIELD(Handler_Register_Args, name);
SAME_FIELD(Handler_Register_Args, platform);
#if XLA_RELEASE >= JAXLIB_0_11_2
SAME_SIZE(Handler_Bundle);
SAME_FIELD(Handler_Bundle, record);
SAME_SIZE(Handler_Register_Args);
SAME_FIELD(Handler_Register_Args, bundle);
SAME_FIELD(Handler_Register_Args, traits);
#else
static_assert(sizeof(XLA_FFI_Handler_Bundle) == offsetof(FARCALL_FFI_Handler_Bundle, record));
static_assert(offsetof(XLA_FFI_Handler_Register_Args, bundle) ==
              offsetof(FARCALL_FFI_Handler_Register_Args, bundle));
static_assert(offsetof(XLA_FFI_Handler_Register_Args, traits) + sizeof(void*) ==
              offsetof(FARCALL_FFI_Handler_Register_Args, traits));
#endif

// ---- extensions and metadata ----

#if XLA_RELEASE >= JAXLIB_0_11_2
SAME_SIZE(InternalExtension);
SAME_FIELD(InternalExtension, type);
SAME_FIELD(InternalExtension, next);
SAME_SIZE(ExtensionId);
SAME_FIELD(ExtensionId, extension_type);
SAME_FIELD(ExtensionId, major_version);
SAME_FIELD(ExtensionId, minor_version);
SAME_SIZE(Extension);
SAME_FIELD(Extension, id);
SAME_FIELD(Extension, next);
#elif XLA_RELEASE >= JAXLIB_0_5_3
static_assert(sizeof(FARCALL_FFI_InternalExtension) == sizeof(XLA_FFI_Extension_Base));
SAME_FIELD_AS(InternalExtension, type, Extension_Base, type);
SAME_FIELD_AS(InternalExtension, next, Extension_Base, next);
#endif
#if XLA_RELEASE >= JAXLIB_0_5_3
SAME_VALUE(Extension_Metadata);
SAME_FIELD(Metadata, struct_size);
SAME_FIELD(Metadata, api_version);
SAME_FIELD(Metadata, traits);
SAME_STRUCT_SIZE(Metadata, traits);  // 36 in every release
SAME_SIZE(Metadata_Extension);
SAME_FIELD(Metadata_Extension, extension_base);
SAME_FIELD(Metadata_Extension, metadata);
SAME_STRUCT_SIZE(Metadata_Extension, metadata);
#endif
#if XLA_RELEASE >= JAXLIB_0_8_0
SAME_SIZE(Metadata);
SAME_FIELD(Metadata, state_type_id);
#elif XLA_RELEASE >= JAXLIB_0_5_3
static_assert(sizeof(XLA_FFI_Metadata) == offsetof(FARCALL_FFI_Metadata, state_type_id));
#endif
