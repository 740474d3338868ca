// StorageArray: the Storages of the inputs or results of a run, empty at first. Few of them need no
// allocation.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <farcall/core/storage.h>

namespace farcall {

class StorageArray {
 public:
  explicit StorageArray(size_t count)
      : count_(count), data_(count > kInline ? new Storage[count] : few_) {
    // A fixed number of pointers is cleared faster than `count`.
    std::uninitialized_default_construct_n(few_, kInline);
  }
  ~StorageArray() {
    if (count_ > kInline) {
      delete[] data_;
    } else {
      std::destroy_n(few_, count_);
    }
  }
  StorageArray(const StorageArray&) = delete;
  StorageArray& operator=(const StorageArray&) = delete;

  std::span<Storage> span() { return {data_, count_}; }
  Storage& operator[](size_t i) { return data_[i]; }

 private:
  static constexpr size_t kInline = 8;
  union {
    Storage few_[kInline];  // those from count_ on stay empty and are not destroyed
  };
  size_t count_;
  Storage* data_;
};

}  // namespace farcall
