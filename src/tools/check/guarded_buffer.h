// Memory between inaccessible pages. An access out of bounds either hits such a page, and signals.h
// reports whose it is, or changes the red zones beside the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "tools/check/data.h"

namespace farcall::tools {

enum class Placement {
  kEnd,    // the data ends at the guard, up to alignment
  kBegin,  // the data begins at the guard
};

// Names an operand or an attribute in messages. Lies in memory that processes share.
struct BufferName {
  enum class Kind : uint8_t { kArgument, kResult, kScratch, kAttribute, kShape };
  Kind kind;
  size_t index;
  char text[40] = {};  // the name of an attribute, or the operand of a shape

  static BufferName of_attribute(const std::string& name);
  static BufferName of_shape(const BufferName& operand);
  bool is_input() const { return kind != Kind::kResult && kind != Kind::kScratch; }
  std::string to_string() const;  // "argument 0", "attribute eps"
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
  // The offset of the changed byte nearest to the data in the red zones, from the data's beginning;
  // nullopt if no byte changed.
  std::optional<int64_t> changed_byte() const;

  void set_writable(bool is_writable);
  // Forbids all accesses from now on.
  void revoke();

 private:
  // Code with AddressSanitizer may not access them, except for this class.
  void allow_red_zones() const;

  std::span<std::byte> before() const;
  std::span<std::byte> after() const;

  BufferName name_;
  size_t nbytes_;
  size_t guard_bytes_, body_bytes_;
  std::byte* map_;   // the first guard
  std::byte* body_;  // the accessible pages
  std::byte* data_;
  Pattern zones_;
};

}  // namespace farcall::tools
