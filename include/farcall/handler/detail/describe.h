// The cold half of decoding: whether a value fits a TypeDesc, and how messages print both. Works on
// constant data, so a library contains this code once for all its handlers.
#pragma once

#include <farcall/handler/detail/names.h>
#include <farcall/handler/detail/signature.h>
#include <farcall/handler/detail/text.h>

#include <cstdint>
#include <string_view>

namespace farcall::ffi::detail {

FARCALL_FFI_COLD inline void print_dims(Text& text, const int64_t* dims, int64_t rank) {
  text << "[";
  for (int64_t i = 0; i < rank; ++i) {
    if (i != 0) text << ",";
    if (dims == nullptr) {
      text << "?";
    } else {
      text << dims[i];
    }
  }
  text << "]";
}

FARCALL_FFI_COLD inline void print_type(Text& text, const TypeDesc& type) {
  switch (type.kind) {
    case TypeKind::kBuffer:
      text << (type.dtype == DataType::INVALID ? "a buffer" : dtype_name(type.dtype));
      if (type.rank >= 0) print_dims(text, nullptr, type.rank);
      break;
    case TypeKind::kScalar:
      text << dtype_name(type.dtype) << " scalar";
      break;
    case TypeKind::kArray:
      text << dtype_name(type.dtype) << " array";
      break;
    case TypeKind::kString:
      text << "string";
      break;
    case TypeKind::kEnum:
      text << dtype_name(type.dtype) << " scalar";
      for (size_t i = 0; i < type.num_children; ++i) {
        text << (i == 0 ? " of " : ", ") << type.children[i].name << "=" << type.children[i].value;
      }
      break;
    case TypeKind::kStruct:
    case TypeKind::kDictionary:
      text << "dictionary";
      break;
    case TypeKind::kVariant:
      for (size_t i = 0; i < type.num_children; ++i) {
        if (i != 0) text << " or ";
        print_type(text, *type.children[i].type);
      }
      break;
    case TypeKind::kCustom:
      text << type.name;
      break;
  }
}

FARCALL_FFI_COLD inline void print_buffer(Text& text, int32_t kind,
                                          const FARCALL_FFI_Buffer* buffer) {
  if (kind != FARCALL_FFI_ArgType_BUFFER) {
    text << "unknown kind " << int64_t{kind};
  } else if (buffer == nullptr) {
    text << "null";
  } else {
    text << dtype_name(static_cast<DataType>(buffer->dtype));
    if (buffer->rank > 0 && buffer->dims == nullptr) {
      text << " without dimensions";
    } else {
      print_dims(text, buffer->dims, buffer->rank);
    }
  }
}

inline bool read_integer(const FARCALL_FFI_Scalar& scalar, int64_t& out) {
  switch (static_cast<DataType>(scalar.dtype)) {
#define FARCALL_FFI_X(name, type)                     \
  case DataType::name: {                              \
    type value;                                       \
    std::memcpy(&value, scalar.value, sizeof(value)); \
    out = static_cast<int64_t>(value);                \
    return true;                                      \
  }
    FARCALL_FFI_X(S8, int8_t)
    FARCALL_FFI_X(S16, int16_t)
    FARCALL_FFI_X(S32, int32_t)
    FARCALL_FFI_X(S64, int64_t)
    FARCALL_FFI_X(U8, uint8_t)
    FARCALL_FFI_X(U16, uint16_t)
    FARCALL_FFI_X(U32, uint32_t)
    FARCALL_FFI_X(U64, uint64_t)
#undef FARCALL_FFI_X
    default:
      return false;
  }
}

FARCALL_FFI_COLD inline void print_attribute(Text& text, FARCALL_FFI_AttrType kind,
                                             const void* attribute, bool with_value) {
  const auto* scalar = static_cast<const FARCALL_FFI_Scalar*>(attribute);
  int64_t value;
  if (attribute == nullptr) {
    text << "null";
    return;
  }
  switch (kind) {
    case FARCALL_FFI_AttrType_SCALAR:
      text << dtype_name(static_cast<DataType>(scalar->dtype)) << " scalar";
      if (scalar->value == nullptr) {
        text << " without a value";
      } else if (with_value && read_integer(*scalar, value)) {
        text << " " << value;
      }
      break;
    case FARCALL_FFI_AttrType_ARRAY:
      text << dtype_name(
                  static_cast<DataType>(static_cast<const FARCALL_FFI_Array*>(attribute)->dtype))
           << " array";
      break;
    case FARCALL_FFI_AttrType_STRING:
      text << "string";
      break;
    case FARCALL_FFI_AttrType_DICTIONARY:
      text << "dictionary";
      break;
    default:
      text << "unknown kind " << static_cast<int64_t>(kind);
  }
}

FARCALL_FFI_COLD inline bool buffer_fits(const TypeDesc& type, int32_t kind,
                                         const FARCALL_FFI_Buffer* buffer) {
  return kind == FARCALL_FFI_ArgType_BUFFER && buffer != nullptr && buffer->rank >= 0 &&
         (buffer->rank == 0 || buffer->dims != nullptr) &&
         (type.dtype == DataType::INVALID || static_cast<DataType>(buffer->dtype) == type.dtype) &&
         (type.rank < 0 || buffer->rank == type.rank);
}

FARCALL_FFI_COLD inline int64_t index_of(const FARCALL_FFI_Attrs& attrs, std::string_view name) {
  int32_t position;
  search_names(attrs, &name, 1, &position);
  return position;
}

FARCALL_FFI_COLD inline bool attribute_fits(const TypeDesc& type, FARCALL_FFI_AttrType kind,
                                            const void* attribute) {
  if (attribute == nullptr) return false;
  const auto* scalar = static_cast<const FARCALL_FFI_Scalar*>(attribute);
  const auto* array = static_cast<const FARCALL_FFI_Array*>(attribute);
  const auto* attrs = static_cast<const FARCALL_FFI_Attrs*>(attribute);
  int64_t value;
  switch (type.kind) {
    case TypeKind::kBuffer:
      return false;
    case TypeKind::kScalar:
      return kind == FARCALL_FFI_AttrType_SCALAR && scalar->value != nullptr &&
             static_cast<DataType>(scalar->dtype) == type.dtype;
    case TypeKind::kArray:
      return kind == FARCALL_FFI_AttrType_ARRAY && (array->data != nullptr || array->size == 0) &&
             static_cast<DataType>(array->dtype) == type.dtype;
    case TypeKind::kString:
      return kind == FARCALL_FFI_AttrType_STRING;
    case TypeKind::kDictionary:
      return kind == FARCALL_FFI_AttrType_DICTIONARY && attrs_are_whole(*attrs);
    case TypeKind::kEnum:
      if (kind != FARCALL_FFI_AttrType_SCALAR || scalar->value == nullptr) return false;
      if (static_cast<DataType>(scalar->dtype) != type.dtype) return false;
      if (type.num_children == 0) return true;
      if (!read_integer(*scalar, value)) return false;
      for (size_t i = 0; i < type.num_children; ++i) {
        if (type.children[i].value == value) return true;
      }
      return false;
    case TypeKind::kVariant:
      for (size_t i = 0; i < type.num_children; ++i) {
        if (attribute_fits(*type.children[i].type, kind, attribute)) return true;
      }
      return false;
    case TypeKind::kStruct: {
      if (kind != FARCALL_FFI_AttrType_DICTIONARY || !attrs_are_whole(*attrs)) return false;
      int64_t found = 0;
      for (size_t i = 0; i < type.num_children; ++i) {
        const NamedType& member = type.children[i];
        const int64_t at = index_of(*attrs, member.name);
        if (at < 0 && member.is_optional) continue;
        if (at < 0 || !attribute_fits(*member.type, attrs->types[at], attrs->attrs[at]))
          return false;
        ++found;
      }
      return found == attrs->size;
    }
    case TypeKind::kCustom:
      return type.accepts(kind, attribute);
  }
  return false;
}

}  // namespace farcall::ffi::detail
