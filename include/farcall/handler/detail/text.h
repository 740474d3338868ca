// A growing string for error messages. Saves kernel files the compile time of <string>.
#pragma once

#include <farcall/handler/config.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace farcall::ffi::detail {

class Text {
 public:
  Text() = default;
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;
  ~Text() { delete[] data_; }

  FARCALL_FFI_COLD Text& operator<<(std::string_view piece) {
    if (size_ + piece.size() > capacity_) {
      const size_t capacity = 2 * (size_ + piece.size()) + 64;
      char* data = new char[capacity];
      if (data_ != nullptr) std::memcpy(data, data_, size_);
      delete[] data_;
      data_ = data;
      capacity_ = capacity;
    }
    if (!piece.empty() && data_ != nullptr) std::memcpy(data_ + size_, piece.data(), piece.size());
    size_ += piece.size();
    return *this;
  }

  FARCALL_FFI_COLD Text& operator<<(const char* piece) { return *this << std::string_view(piece); }

  FARCALL_FFI_COLD Text& operator<<(int64_t number) {
    char digits[20];
    size_t used = 0;
    uint64_t rest = number < 0 ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
    do {
      digits[sizeof(digits) - ++used] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    if (number < 0) *this << "-";
    return *this << std::string_view(digits + sizeof(digits) - used, used);
  }

  std::string_view view() const { return {data_, size_}; }
  bool empty() const { return size_ == 0; }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace farcall::ffi::detail
