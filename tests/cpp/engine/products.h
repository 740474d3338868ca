// Operands of products for tests.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <random>
#include <type_traits>

#include "engine/native/kernels/products/matrix_product.h"

namespace farcall::native {

// `count` elements; the last one ends at the end of mapped memory.
template <class T>
class Fenced {
 public:
  explicit Fenced(int64_t count) : count_(count) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t nbytes = static_cast<size_t>(count) * sizeof(T);
    size_ = (nbytes + page - 1) / page * page + page;
    memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    auto* const end = static_cast<std::byte*>(memory_) + size_ - page;
    mprotect(end, page, PROT_NONE);
    data_ = reinterpret_cast<T*>(end) - count;
  }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  ~Fenced() { munmap(memory_, size_); }

  T* data() const { return data_; }
  T& operator[](int64_t i) const { return data_[i]; }
  void fill(std::mt19937& random) const {
    for (int64_t i = 0; i < count_; ++i) {
      if constexpr (std::is_integral_v<T>) {
        data_[i] = static_cast<T>(random());
      } else if constexpr (std::is_floating_point_v<T>) {
        data_[i] = std::normal_distribution<T>()(random);
      } else {
        std::normal_distribution<typename T::value_type> normal;
        data_[i] = {normal(random), normal(random)};
      }
    }
  }

 private:
  int64_t count_;
  size_t size_ = 0;
  void* memory_ = nullptr;
  T* data_ = nullptr;
};

struct Sizes {
  int64_t m, k, n;
  bool is_a_transposed = false, is_b_transposed = false;
};

inline std::ostream& operator<<(std::ostream& out, const Sizes& s) {
  return out << s.m << " by " << s.k << (s.is_a_transposed ? " transposed" : "") << ", " << s.k
             << " by " << s.n << (s.is_b_transposed ? " transposed" : "");
}

inline Matrix matrix(const void* data, int64_t rows, int64_t columns, bool is_transposed) {
  return is_transposed ? Matrix{data, 1, rows} : Matrix{data, columns, 1};
}

}  // namespace farcall::native
