// Memory that holds machine code.
#pragma once

#include <cstddef>
#include <span>

namespace farcall::native::jit {

// Pages that are written once and can then only be read and run: never both written and run.
class ExecutableMemory {
 public:
  // A copy of the bytes. Empty where the system refuses: some let no process make memory
  // executable.
  explicit ExecutableMemory(std::span<const std::byte> code);
  ExecutableMemory() = default;
  ~ExecutableMemory();
  ExecutableMemory(ExecutableMemory&& other) noexcept;
  ExecutableMemory& operator=(ExecutableMemory&& other) noexcept;

  const void* data() const { return data_; }  // null where it is empty
  size_t nbytes() const { return data_ ? size_ : 0; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace farcall::native::jit
