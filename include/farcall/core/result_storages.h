// ResultStorages: empty Storages that receive the results of a run. Few of them need no allocation.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <farcall/core/storage.h>

namespace farcall {

class ResultStorages {
 public:
  explicit ResultStorages(size_t count)
      : count_(count), data_(count > kInline ? new Storage[count] : few_) {
    if (count <= kInline) std::uninitialized_default_construct_n(few_, count);
  }
  ~ResultStorages() {
    if (count_ > kInline) {
      delete[] data_;
    } else {
      std::destroy_n(few_, count_);
    }
  }
  ResultStorages(const ResultStorages&) = delete;
  ResultStorages& operator=(const ResultStorages&) = delete;

  std::span<Storage> span() { return {data_, count_}; }
  Storage& operator[](size_t i) { return data_[i]; }

 private:
  static constexpr size_t kInline = 16;
  union {
    Storage few_[kInline];  // only the first count_ are constructed
  };
  size_t count_;
  Storage* data_;
};

}  // namespace farcall
