// The signature of a handler as constant data. Error messages are generated from it, and tools read
// it from the exported symbol `farcall_handler_<name>` that FARCALL_DEFINE_HANDLER defines.
//
// Plain structs with pointers to constants: a tool that knows the `version` can read them through
// dlsym, without calling into the library.
#pragma once

#include <farcall/handler/config.h>
#include <farcall/handler/dtype.h>

#include <cstddef>
#include <cstdint>

namespace farcall::ffi {

enum class ExecutionStage : uint8_t {
  kInstantiate = FARCALL_FFI_ExecutionStage_INSTANTIATE,
  kPrepare = FARCALL_FFI_ExecutionStage_PREPARE,
  kInitialize = FARCALL_FFI_ExecutionStage_INITIALIZE,
  kExecute = FARCALL_FFI_ExecutionStage_EXECUTE,
  kRecord = FARCALL_FFI_ExecutionStage_RECORD,
};

enum class Traits : uint32_t {
  kCmdBufferCompatible = FARCALL_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE,
};

// Stages and traits by their short names, for FARCALL_DEFINE_HANDLER.
inline constexpr ExecutionStage kInstantiate = ExecutionStage::kInstantiate;
inline constexpr ExecutionStage kPrepare = ExecutionStage::kPrepare;
inline constexpr ExecutionStage kInitialize = ExecutionStage::kInitialize;
inline constexpr ExecutionStage kExecute = ExecutionStage::kExecute;
inline constexpr ExecutionStage kRecord = ExecutionStage::kRecord;
inline constexpr Traits kCmdBufferCompatible = Traits::kCmdBufferCompatible;

enum class TypeKind : uint8_t {
  kBuffer,      // dtype and rank, both may be open
  kScalar,      // dtype
  kArray,       // dtype
  kString,      //
  kEnum,        // dtype, name; children: allowed values (none: any value)
  kStruct,      // name; children: members
  kDictionary,  // any names, any values
  kVariant,     // children: alternatives
  kCustom,      // decoded by the author's AttrDecoding; name, accepts
};

struct TypeDesc {
  TypeKind kind;
  DataType dtype = DataType::INVALID;  // INVALID: any
  int64_t rank = -1;                   // -1: any
  const char* name = "";
  const struct NamedType* children = nullptr;
  size_t num_children = 0;
  bool (*accepts)(FARCALL_FFI_AttrType kind, const void* attribute) = nullptr;
};

// A member of a struct, an alternative of a variant (unnamed), or an enumerator with its value.
struct NamedType {
  const char* name;
  const TypeDesc* type;
  bool is_optional;
  int64_t value;
};

enum class ParamKind : uint8_t {
  kArgument,
  kResult,
  kRemainingArgs,
  kRemainingRets,
  kAttribute,
  kAllAttributes,
  kContext,
};

struct ParamDesc {
  ParamKind kind;
  bool is_optional;      // may be absent: std::optional, or an attribute with a default
  const char* name;      // of attributes and context items, else empty
  const TypeDesc* type;  // null if there is none
};

struct HandlerDesc {
  size_t struct_size;
  uint32_t version;  // of these structs; 1
  uint32_t traits;
  ExecutionStage stage;
  const char* name;
  const ParamDesc* params;  // in the order of the C++ function
  size_t num_params;
  FARCALL_FFI_Handler* handler;
};

}  // namespace farcall::ffi
