// Call frames built by hand, and the outcomes of calls.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <farcall/ffi.h>

#include "runtime.h"

namespace farcall::ffi::testing {

// The outcome of a call; for OK the message is empty.
struct Outcome {
  ErrorCode code = ErrorCode::kOk;
  std::string message;

  bool operator==(const Outcome& other) const {
    return code == other.code && message == other.message;
  }
  friend std::ostream& operator<<(std::ostream& os, const Outcome& outcome) {
    return os << "code " << static_cast<int>(outcome.code) << ": " << outcome.message;
  }
};

inline Outcome take(FARCALL_FFI_Error* error) {
  if (error == nullptr) return {};
  Outcome outcome{static_cast<ErrorCode>(error->code), error->message};
  --live_errors;
  delete error;
  return outcome;
}

inline Outcome ok() { return {}; }
inline Outcome invalid(std::string message) {
  return {ErrorCode::kInvalidArgument, std::move(message)};
}

// Named attributes, sorted by name as in frames. Nested dictionaries are Attributes too.
class Attributes {
 public:
  template <typename T>
  Attributes& scalar(const std::string& name, T value) {
    return typed_scalar(name, static_cast<FARCALL_FFI_DataType>(detail::kDataTypeOf<T>), value);
  }
  template <typename T>
  Attributes& typed_scalar(const std::string& name, FARCALL_FFI_DataType dtype, T value) {
    Entry& entry = add(name, FARCALL_FFI_AttrType_SCALAR);
    entry.bytes.resize(sizeof(T));
    std::memcpy(entry.bytes.data(), &value, sizeof(T));
    entry.scalar = {dtype, entry.bytes.data()};
    entry.value = &entry.scalar;
    return *this;
  }
  template <typename T>
  Attributes& array(const std::string& name, const std::vector<T>& values) {
    Entry& entry = add(name, FARCALL_FFI_AttrType_ARRAY);
    entry.bytes.resize(sizeof(T) * values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const T value = values[i];
      std::memcpy(entry.bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
    entry.array = {static_cast<FARCALL_FFI_DataType>(detail::kDataTypeOf<T>), values.size(),
                   entry.bytes.data()};
    entry.value = &entry.array;
    return *this;
  }
  Attributes& string(const std::string& name, const std::string& text) {
    Entry& entry = add(name, FARCALL_FFI_AttrType_STRING);
    entry.bytes.assign(text.begin(), text.end());
    entry.span = {entry.bytes.data(), entry.bytes.size()};
    entry.value = &entry.span;
    return *this;
  }
  Attributes& dictionary(const std::string& name, Attributes& nested) {
    add(name, FARCALL_FFI_AttrType_DICTIONARY).value = nested.get();
    return *this;
  }
  Attributes& raw(const std::string& name, int kind, void* value) {
    add(name, static_cast<FARCALL_FFI_AttrType>(kind)).value = value;
    return *this;
  }

  FARCALL_FFI_Attrs* get() {
    types_.clear();
    names_.clear();
    values_.clear();
    for (auto& [name, entry] : entries_) {
      entry.name = {name.data(), name.size()};
      types_.push_back(entry.kind);
      names_.push_back(&entry.name);
      values_.push_back(entry.value);
    }
    attrs_ = {sizeof(FARCALL_FFI_Attrs),
              nullptr,
              static_cast<int64_t>(types_.size()),
              types_.data(),
              names_.data(),
              values_.data()};
    return &attrs_;
  }

 private:
  struct Entry {
    FARCALL_FFI_AttrType kind;
    void* value = nullptr;
    std::vector<char> bytes;
    FARCALL_FFI_Scalar scalar;
    FARCALL_FFI_Array array;
    FARCALL_FFI_ByteSpan span;
    FARCALL_FFI_ByteSpan name;
  };
  Entry& add(const std::string& name, FARCALL_FFI_AttrType kind) {
    Entry& entry = entries_[name];
    entry.kind = kind;
    return entry;
  }

  std::map<std::string, Entry> entries_;
  std::vector<FARCALL_FFI_AttrType> types_;
  std::vector<FARCALL_FFI_ByteSpan*> names_;
  std::vector<void*> values_;
  FARCALL_FFI_Attrs attrs_;
};

// One call. A test may corrupt the public fields before call().
class Frame {
 public:
  explicit Frame(int minor = FARCALL_FFI_API_MINOR) {
    frame.struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_CallFrame, attrs);
    frame.api = api_of(minor);
    frame.ctx = &context;
    frame.stage = FARCALL_FFI_ExecutionStage_EXECUTE;
  }

  Frame& arg(DataType dtype, std::vector<int64_t> dims, void* data = nullptr) {
    return add(args, arg_kinds, dtype, std::move(dims), data);
  }
  Frame& ret(DataType dtype, std::vector<int64_t> dims, void* data = nullptr) {
    return add(rets, ret_kinds, dtype, std::move(dims), data);
  }
  Frame& stage(ExecutionStage stage) {
    frame.stage = static_cast<FARCALL_FFI_ExecutionStage>(stage);
    return *this;
  }

  Outcome call(FARCALL_FFI_Handler* handler) {
    frame.args = {sizeof(FARCALL_FFI_Args), nullptr, static_cast<int64_t>(args.size()),
                  arg_kinds.data(), args.data()};
    frame.rets = {sizeof(FARCALL_FFI_Rets), nullptr, static_cast<int64_t>(rets.size()),
                  ret_kinds.data(), rets.data()};
    frame.attrs = *attrs.get();
    return call_as_it_is(handler);
  }
  Outcome call_as_it_is(FARCALL_FFI_Handler* handler) { return take(handler(&frame)); }

  FARCALL_FFI_CallFrame frame = {};
  FARCALL_FFI_ExecutionContext context;
  Attributes attrs;
  std::vector<void*> args;
  std::vector<void*> rets;
  std::vector<FARCALL_FFI_ArgType> arg_kinds;
  std::vector<FARCALL_FFI_RetType> ret_kinds;

 private:
  template <typename Kind>
  Frame& add(std::vector<void*>& values, std::vector<Kind>& kinds, DataType dtype,
             std::vector<int64_t> dims, void* data) {
    dims_.push_back(std::move(dims));
    std::vector<int64_t>& kept = dims_.back();
    buffers_.push_back({sizeof(FARCALL_FFI_Buffer), nullptr,
                        static_cast<FARCALL_FFI_DataType>(dtype), data,
                        static_cast<int64_t>(kept.size()), kept.data()});
    values.push_back(&buffers_.back());
    kinds.push_back(static_cast<Kind>(1));
    return *this;
  }

  std::deque<std::vector<int64_t>> dims_;
  std::deque<FARCALL_FFI_Buffer> buffers_;
};

}  // namespace farcall::ffi::testing
