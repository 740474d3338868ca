#include "engine/native/jit/memory.h"

#include <cstring>
#include <utility>

#include <sys/mman.h>

namespace farcall::native::jit {

ExecutableMemory::ExecutableMemory(std::span<const std::byte> code) : size_(code.size()) {
  void* const pages =
      ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return;
  std::memcpy(pages, code.data(), size_);
  if (::mprotect(pages, size_, PROT_READ | PROT_EXEC) == 0) {
    data_ = pages;
  } else {
    ::munmap(pages, size_);
  }
}

ExecutableMemory::~ExecutableMemory() {
  if (data_) ::munmap(data_, size_);
}

ExecutableMemory::ExecutableMemory(ExecutableMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}

ExecutableMemory& ExecutableMemory::operator=(ExecutableMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace farcall::native::jit
