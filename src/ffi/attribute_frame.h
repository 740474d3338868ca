// Attributes in the layout that handlers read.
#pragma once

#include <forward_list>
#include <vector>

#include <farcall/abi.h>
#include <farcall/ffi/attribute.h>

namespace farcall {

// Owns its attributes and all structs that point into them, so `attrs()` is valid while this object
// lives. Immutable, so handlers on any thread may read it. Not movable.
class AttributeFrame {
 public:
  explicit AttributeFrame(Attributes attributes);
  AttributeFrame(const AttributeFrame&) = delete;
  AttributeFrame& operator=(const AttributeFrame&) = delete;

  const FARCALL_FFI_Attrs& attrs() const { return root_; }
  const Attributes& attributes() const { return attributes_; }

 private:
  // The columns of one dictionary.
  struct Columns {
    std::vector<FARCALL_FFI_AttrType> types;
    std::vector<FARCALL_FFI_ByteSpan> spans;
    std::vector<FARCALL_FFI_ByteSpan*> names;
    std::vector<void*> values;
  };

  FARCALL_FFI_Attrs build(const Attributes& attributes);
  void append(Columns& columns, const Attribute& value);

  Attributes attributes_;
  // Lists: their elements stay where they are, and an empty list needs no memory.
  std::forward_list<Columns> columns_;
  std::forward_list<FARCALL_FFI_Scalar> scalars_;
  std::forward_list<FARCALL_FFI_Array> arrays_;
  std::forward_list<FARCALL_FFI_ByteSpan> strings_;
  std::forward_list<FARCALL_FFI_Attrs> dictionaries_;
  FARCALL_FFI_Attrs root_;
};

}  // namespace farcall
