// The protocol between an isolated call and its helper. The shared memory begins with a
// CrashReport, followed by the text of the request and the operands. Each request header and each
// reply is one packet of the socket. Both ends must be the same build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include <farcall/core/error.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/ffi/attribute.h>
#include <farcall/ffi/stage.h>

#include "ffi/internal/foreign_stack.h"

namespace farcall::runtime {

inline constexpr int kHelperSocket = 3, kHelperMemory = 4;  // descriptors of the helper

inline constexpr size_t kRequestBegin = 8192;
static_assert(sizeof(CrashReport) <= kRequestBegin);

struct Request {
  uint64_t memory_bytes, request_bytes;
};
// Followed by the message.
struct Reply {
  int32_t code;
};
inline constexpr size_t kMostReplyBytes = size_t{1} << 15;

enum class RequestKind : uint8_t { kLoad, kCall };

// Where another process finds a handler.
struct HandlerPlace {
  std::string library;  // empty if the stage has no handler
  uint64_t offset = 0;
};

class Writer {
 public:
  template <class T>
  void number(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void text(std::string_view text) {
    number<uint64_t>(text.size());
    bytes_ += text;
  }
  void type(ShapeDtype type) {
    number(type.dtype());
    number<uint64_t>(type.rank());
    for (const int64_t size : type.shape()) number(size);
  }
  void attributes(const Attributes& attributes);

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Raises INTERNAL if the bytes end too early.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string_view text() { return take(number<uint64_t>()); }
  ShapeDtype type();
  Attributes attributes();

 private:
  std::string_view take(size_t count) {
    FARCALL_ASSERT(count <= bytes_.size());
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }

  std::string_view bytes_;
};

}  // namespace farcall::runtime
