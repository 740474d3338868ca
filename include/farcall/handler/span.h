// A non-owning view of contiguous elements: a pointer and a count.
#pragma once

#include <farcall/handler/config.h>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace farcall::ffi {

template <typename T>
class Span {
 public:
  using value_type = std::remove_cv_t<T>;

  constexpr Span() = default;
  FARCALL_FFI_HOST_DEVICE constexpr Span(T* data, size_t size) : data_(data), size_(size) {}

  // Any container with data() and size(), std::vector for instance.
  template <typename Container,
            typename = std::enable_if_t<
                !std::is_same_v<std::decay_t<Container>, Span> &&
                std::is_convertible_v<decltype(std::declval<Container&>().data()), T*>>>
  constexpr Span(Container&& container)
      : data_(container.data()), size_(static_cast<size_t>(container.size())) {}

  FARCALL_FFI_HOST_DEVICE constexpr T* data() const { return data_; }
  FARCALL_FFI_HOST_DEVICE constexpr size_t size() const { return size_; }
  FARCALL_FFI_HOST_DEVICE constexpr bool empty() const { return size_ == 0; }
  FARCALL_FFI_HOST_DEVICE constexpr T* begin() const { return data_; }
  FARCALL_FFI_HOST_DEVICE constexpr T* end() const { return data_ + size_; }
  FARCALL_FFI_HOST_DEVICE constexpr T& operator[](size_t index) const { return data_[index]; }
  FARCALL_FFI_HOST_DEVICE constexpr T& front() const { return data_[0]; }
  FARCALL_FFI_HOST_DEVICE constexpr T& back() const { return data_[size_ - 1]; }
  constexpr Span first(size_t count) const { return Span(data_, count); }
  constexpr Span last(size_t count) const { return Span(data_ + size_ - count, count); }

  friend constexpr bool operator==(Span a, Span b) {
    if (a.size_ != b.size_) return false;
    for (size_t i = 0; i < a.size_; ++i) {
      if (!(a.data_[i] == b.data_[i])) return false;
    }
    return true;
  }
  friend constexpr bool operator!=(Span a, Span b) { return !(a == b); }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace farcall::ffi
