#include "ffi/attribute_frame.h"

namespace farcall {
namespace {

// The interface's pointers are non-const, but handlers only read through them.
void* as_pointer(std::span<const std::byte> bytes) { return const_cast<std::byte*>(bytes.data()); }

FARCALL_FFI_ByteSpan as_span(const std::string& text) { return {text.data(), text.size()}; }

}  // namespace

AttributeFrame::AttributeFrame(Attributes attributes)
    : attributes_(std::move(attributes)), root_(build(attributes_)) {}

FARCALL_FFI_Attrs AttributeFrame::build(const Attributes& attributes) {
  Columns& columns = columns_.emplace_front();
  const size_t size = attributes.size();
  columns.types.reserve(size);
  columns.spans.reserve(size);
  columns.names.reserve(size);
  columns.values.reserve(size);
  for (const auto& [name, value] : attributes) {
    columns.names.push_back(&columns.spans.emplace_back(as_span(name)));
    append(columns, value);
  }
  return {.struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Attrs, attrs),
          .extension_start = nullptr,
          .size = static_cast<int64_t>(size),
          .types = columns.types.data(),
          .names = columns.names.data(),
          .attrs = columns.values.data()};
}

void AttributeFrame::append(Columns& columns, const Attribute& value) {
  const auto add = [&](FARCALL_FFI_AttrType type, void* pointer) {
    columns.types.push_back(type);
    columns.values.push_back(pointer);
  };
  const auto dtype = static_cast<FARCALL_FFI_DataType>(value.dtype());
  switch (value.kind()) {
    case Attribute::Kind::kScalar:
      return add(FARCALL_FFI_AttrType_SCALAR,
                 &scalars_.emplace_front(FARCALL_FFI_Scalar{dtype, as_pointer(value.bytes())}));
    case Attribute::Kind::kArray:
      return add(FARCALL_FFI_AttrType_ARRAY, &arrays_.emplace_front(FARCALL_FFI_Array{
                                                 dtype, value.count(), as_pointer(value.bytes())}));
    case Attribute::Kind::kString:
      return add(FARCALL_FFI_AttrType_STRING, &strings_.emplace_front(as_span(value.as_string())));
    case Attribute::Kind::kDictionary:
      return add(FARCALL_FFI_AttrType_DICTIONARY,
                 &dictionaries_.emplace_front(build(value.as_dictionary())));
  }
}

}  // namespace farcall
