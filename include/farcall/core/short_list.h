// ShortList: a list whose final length is known before it is filled. A short one needs no
// allocation.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace farcall {

template <class T, size_t kFew>
class ShortList {
 public:
  // Empty, with room for `capacity` elements.
  explicit ShortList(size_t capacity)
      : capacity_(capacity),
        data_(capacity > kFew ? std::allocator<T>().allocate(capacity) : few_) {}
  ~ShortList() {
    std::destroy_n(data_, size_);
    if (capacity_ > kFew) std::allocator<T>().deallocate(data_, capacity_);
  }
  ShortList(const ShortList&) = delete;
  ShortList& operator=(const ShortList&) = delete;

  template <class... Args>
  T& emplace_back(Args&&... args) {
    T* made = std::construct_at(data_ + size_, std::forward<Args>(args)...);
    ++size_;
    return *made;
  }

  T& operator[](size_t i) { return data_[i]; }
  std::span<T> span() { return {data_, size_}; }
  std::span<const T> span() const { return {data_, size_}; }

 private:
  union {
    T few_[kFew];  // elements of a short list
  };
  size_t size_ = 0;
  size_t capacity_;
  T* data_;
};

}  // namespace farcall
