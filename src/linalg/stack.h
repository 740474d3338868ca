// Helpers of the handlers: scratch memory, dtypes, elements of matrices.
#pragma once

#include <farcall/ffi.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

#include "linalg/contract.h"
#include "linalg/lapack.h"

namespace farcall::linalg {

// Scratch memory. Errors are sticky: check once after all allocations.
class Scratch {
 public:
  explicit Scratch(ffi::ScratchAllocator& allocator) : allocator_(allocator) {}

  // Null after an earlier failure.
  template <class T>
  T* take(int64_t count) {
    if (error_.failure()) return nullptr;
    const auto elements = static_cast<size_t>(std::max<int64_t>(count, 1));
    if (elements > PTRDIFF_MAX / sizeof(T)) return too_large<T>();
    ffi::ErrorOr<void*> memory = allocator_.try_allocate(elements * sizeof(T), 64);
    if (memory.has_value()) return static_cast<T*>(memory.value());
    error_ = memory.error();
    return nullptr;
  }
  // Allocates `count` workspaces of `routine`: `work` as large as it requests when called with size
  // -1, `real` reals and `whole` integers as LAPACK documents.
  template <class T, class F>
  std::vector<lapack::Work<T>> works(int64_t count, int64_t real, int64_t whole, F&& routine) {
    if (error_.failure()) return {};
    T best{};
    lapack::Real<T> best_real{};
    int best_whole = 0;
    routine(lapack::Work<T>{&best, -1, &best_real, -1, &best_whole, -1});
    std::vector<lapack::Work<T>> all(static_cast<size_t>(count));
    for (lapack::Work<T>& w : all) {
      w.size = count_for<T>(wanted_by(std::real(best)));
      w.work = take<T>(w.size);
      w.real_size = count_for<lapack::Real<T>>(real);
      if constexpr (lapack::kIsComplex<T>) w.real = take<lapack::Real<T>>(w.real_size);
      w.whole_size = count_for<int>(whole);
      w.whole = take<int>(w.whole_size);
    }
    return all;
  }
  const ffi::Error& error() const { return error_; }

 private:
  // LAPACK returns the size as a float, which may be rounded down, or as a negative number after
  // overflow.
  template <class R>
  static int64_t wanted_by(R best) {
    constexpr R kLimit = static_cast<R>(int64_t{1} << 40);
    if (!(best >= 0 && best < kLimit)) return int64_t{1} << 40;
    return static_cast<int64_t>(std::nextafter(best, kLimit)) + (best < (1 << 20) ? 0 : 1);
  }
  // At least 1; also 1 after an error.
  template <class T>
  int count_for(int64_t count) {
    if (count <= std::numeric_limits<int>::max())
      return static_cast<int>(std::max<int64_t>(1, count));
    too_large<T>();
    return 1;
  }
  template <class T>
  T* too_large() {
    if (error_.success()) {
      error_ = ffi::Error(ffi::ErrorCode::kInvalidArgument,
                          "the matrices are too large: LAPACK, which counts in 32 bits, would need "
                          "a larger workspace for them");
    }
    return nullptr;
  }

  ffi::ScratchAllocator& allocator_;
  ffi::Error error_;
};

// Calls f.template operator()<T>() with the C++ type of a LAPACK dtype.
template <class F>
ffi::Error for_lapack_type(ffi::DataType dtype, F&& f) {
  return ffi::dispatch<ffi::F32, ffi::F64, ffi::C64, ffi::C128>(dtype, [&](auto tag) {
    constexpr ffi::DataType kType = decltype(tag)::value;
    using T = std::conditional_t<
        kType == ffi::F32, float,
        std::conditional_t<
            kType == ffi::F64, double,
            std::conditional_t<kType == ffi::C64, std::complex<float>, std::complex<double>>>>;
    return f.template operator()<T>();
  });
}

template <class T>
T conj(T x) {
  if constexpr (lapack::kIsComplex<T>) {
    return std::conj(x);
  } else {
    return x;
  }
}

// The size by which LAPACK chooses pivots.
template <class T>
lapack::Real<T> size_of(T x) {
  return std::abs(std::real(x)) + std::abs(std::imag(x));
}

template <class T>
void fill_nan(T* data, int64_t count) {
  std::fill_n(data, count, T(std::numeric_limits<lapack::Real<T>>::quiet_NaN()));
}

// LAPACK's iterations may not terminate for matrices with infinities or NaNs.
template <class T>
bool all_finite(const T* data, int64_t count) {
  return std::all_of(data, data + count, [](T x) {
    return std::isfinite(std::real(x)) && std::isfinite(std::imag(x));
  });
}

// Copies unless both point to the same memory.
template <class T>
void copy_unless_same(const T* from, T* to, int64_t count) {
  if (from != to) std::copy_n(from, count, to);
}

// Exchanges row i of a row-major matrix with row pivots[i], for each i in order; in reverse order
// if `inverse`. Rows begin `stride` elements apart.
template <class T>
void exchange_rows(T* matrix, int64_t stride, int64_t columns, const int32_t* pivots, int64_t count,
                   bool inverse) {
  for (int64_t step = 0; step < count; ++step) {
    const int64_t row = inverse ? count - 1 - step : step;
    if (pivots[row] == row) continue;
    T* moved = matrix + row * stride;
    std::swap_ranges(moved, moved + columns, matrix + pivots[row] * stride);
  }
}

}  // namespace farcall::linalg
