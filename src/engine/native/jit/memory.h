// Memory that holds machine code.
#pragma once

#include <cstddef>
#include <span>

namespace farcall::native::jit {

// Pages that are written once and then become read-only and executable. They are never writable and
// executable at once.
class ExecutableMemory {
 public:
  // Copies the bytes. Empty if the system refuses; some systems forbid executable memory.
  explicit ExecutableMemory(std::span<const std::byte> code);
  ExecutableMemory() = default;
  ~ExecutableMemory();
  ExecutableMemory(ExecutableMemory&& other) noexcept;
  ExecutableMemory& operator=(ExecutableMemory&& other) noexcept;

  const void* data() const { return data_; }  // null if empty
  size_t nbytes() const { return data_ ? size_ : 0; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace farcall::native::jit
