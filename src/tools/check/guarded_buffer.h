// Memory between pages that cannot be touched. An access out of bounds either ends in one of them,
// and signals.h tells whose they are, or changes the red zones beside the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "tools/check/data.h"

namespace farcall::tools {

enum class Placement {
  kEnd,    // the data ends right before the guard, but for the alignment
  kBegin,  // the data begins right after the guard
};

// What kind of operand it is, for messages.
struct BufferName {
  enum class Kind : uint8_t { kArgument, kResult, kScratch };
  Kind kind;
  size_t index;
  std::string to_string() const;  // "argument 0"
};

class GuardedBuffer {
 public:
  GuardedBuffer(BufferName name, size_t nbytes, size_t alignment, Placement placement);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  std::byte* data() const { return data_; }
  std::span<std::byte> bytes() const { return {data_, nbytes_}; }
  const BufferName& name() const { return name_; }

  void fill_red_zones(const Pattern& pattern);
  // Where the nearest changed byte of the red zones lies, counted from the beginning of the data.
  std::optional<int64_t> changed_byte() const;

  void set_writable(bool is_writable);
  // No access at all from now on.
  void revoke();

 private:
  std::span<std::byte> before() const;
  std::span<std::byte> after() const;

  BufferName name_;
  size_t nbytes_;
  size_t guard_bytes_, body_bytes_;
  std::byte* map_;   // the first guard
  std::byte* body_;  // pages that can be touched
  std::byte* data_;
  Pattern zones_;
};

}  // namespace farcall::tools
