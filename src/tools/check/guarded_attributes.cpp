#include "tools/check/guarded_attributes.h"

#include <cstring>

#include <farcall/core/dtype.h>

namespace farcall::tools {

GuardedAttributes::GuardedAttributes(const FARCALL_FFI_Attrs& attributes)
    : root_(copy(attributes, "")) {}

FARCALL_FFI_Attrs GuardedAttributes::copy(const FARCALL_FFI_Attrs& attributes,
                                          const std::string& prefix) {
  Columns& columns = columns_.emplace_back();
  const auto size = static_cast<size_t>(attributes.size);
  columns.types.assign(attributes.types, attributes.types + size);
  for (size_t i = 0; i < size; ++i) {
    const FARCALL_FFI_ByteSpan& name = *attributes.names[i];
    columns.texts.emplace_back(name.ptr, name.len);
    columns.values.push_back(
        copy_value(attributes.types[i], attributes.attrs[i], prefix + columns.texts.back()));
  }
  for (const std::string& text : columns.texts) columns.spans.push_back({text.data(), text.size()});
  for (FARCALL_FFI_ByteSpan& span : columns.spans) columns.names.push_back(&span);
  FARCALL_FFI_Attrs result = attributes;
  result.types = columns.types.data();
  result.names = columns.names.data();
  result.attrs = columns.values.data();
  return result;
}

void* GuardedAttributes::copy_value(FARCALL_FFI_AttrType type, const void* value,
                                    const std::string& name) {
  switch (type) {
    case FARCALL_FFI_AttrType_SCALAR: {
      const auto& scalar = *static_cast<const FARCALL_FFI_Scalar*>(value);
      const size_t width = byte_width(static_cast<DType>(scalar.dtype));
      return &scalars_.emplace_back(
          FARCALL_FFI_Scalar{scalar.dtype, guarded(scalar.value, width, width, name)});
    }
    case FARCALL_FFI_AttrType_ARRAY: {
      const auto& array = *static_cast<const FARCALL_FFI_Array*>(value);
      const size_t width = byte_width(static_cast<DType>(array.dtype));
      return &arrays_.emplace_back(FARCALL_FFI_Array{
          array.dtype, array.size, guarded(array.data, array.size * width, width, name)});
    }
    case FARCALL_FFI_AttrType_STRING: {
      const auto& string = *static_cast<const FARCALL_FFI_ByteSpan*>(value);
      const void* data = guarded(string.ptr, string.len, 1, name);
      return &strings_.emplace_back(
          FARCALL_FFI_ByteSpan{static_cast<const char*>(data), string.len});
    }
    case FARCALL_FFI_AttrType_DICTIONARY:
      return &dictionaries_.emplace_back(
          copy(*static_cast<const FARCALL_FFI_Attrs*>(value), name + "."));
  }
  return const_cast<void*>(value);
}

void* GuardedAttributes::guarded(const void* data, size_t nbytes, size_t alignment,
                                 const std::string& name) {
  auto buffer = std::make_unique<GuardedBuffer>(BufferName::of_attribute(name), nbytes, alignment,
                                                Placement::kEnd);
  if (nbytes > 0) std::memcpy(buffer->data(), data, nbytes);
  buffer->set_writable(false);
  return buffers_.emplace_back(std::move(buffer))->data();
}

}  // namespace farcall::tools
