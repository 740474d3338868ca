// A copy of a call's attributes whose values cannot be written, and lie before inaccessible pages.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <farcall/abi.h>

#include "tools/check/guarded_buffer.h"

namespace farcall::tools {

class GuardedAttributes {
 public:
  explicit GuardedAttributes(const FARCALL_FFI_Attrs& attributes);

  const FARCALL_FFI_Attrs& attrs() const { return root_; }

 private:
  FARCALL_FFI_Attrs copy(const FARCALL_FFI_Attrs& attributes, const std::string& prefix);
  void* copy_value(FARCALL_FFI_AttrType type, const void* value, const std::string& name);
  void* guarded(const void* data, size_t nbytes, size_t alignment, const std::string& name);

  std::vector<std::unique_ptr<GuardedBuffer>> buffers_;
  // The structures of the interface, at addresses that stay.
  struct Columns {
    std::vector<std::string> texts;
    std::vector<FARCALL_FFI_AttrType> types;
    std::vector<FARCALL_FFI_ByteSpan> spans;
    std::vector<FARCALL_FFI_ByteSpan*> names;
    std::vector<void*> values;
  };
  std::deque<Columns> columns_;
  std::deque<FARCALL_FFI_Scalar> scalars_;
  std::deque<FARCALL_FFI_Array> arrays_;
  std::deque<FARCALL_FFI_ByteSpan> strings_;
  std::deque<FARCALL_FFI_Attrs> dictionaries_;
  FARCALL_FFI_Attrs root_;
};

}  // namespace farcall::tools
