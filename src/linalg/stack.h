// What the handlers share: matrices stacked along leading dimensions, and scratch memory.
#pragma once

#include <farcall/ffi.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <initializer_list>
#include <limits>

#include "linalg/lapack.h"

namespace farcall::linalg {

// The matrices of a buffer: its last two dimensions, as often as the dimensions before say.
struct Stack {
  int64_t count = 0;
  int rows = 0;
  int columns = 0;
  int64_t elements() const { return static_cast<int64_t>(rows) * columns; }
};
ffi::ErrorOr<Stack> stack_of(const ffi::AnyBuffer& buffer);

// An error unless the buffer has the dimensions of `like` with the last two replaced by `last`.
ffi::Error check_result(const ffi::AnyBuffer& result, const ffi::AnyBuffer& like,
                        std::initializer_list<int64_t> last);

// Scratch memory whose failure is looked at once, after all was taken.
class Scratch {
 public:
  explicit Scratch(ffi::ScratchAllocator& allocator) : allocator_(allocator) {}

  // Null after a failure.
  template <class T>
  T* take(int64_t count) {
    if (error_.failure()) return nullptr;
    const int64_t bytes = std::max<int64_t>(count, 1) * static_cast<int64_t>(sizeof(T));
    ffi::ErrorOr<void*> memory = allocator_.try_allocate(static_cast<size_t>(bytes), 64);
    if (memory.has_value()) return static_cast<T*>(memory.value());
    error_ = memory.error();
    return nullptr;
  }
  // What `routine` asks for when it is called with a workspace of size -1, and so many reals and
  // whole numbers as LAPACK documents.
  template <class T, class F>
  lapack::Work<T> work(int64_t real, int64_t whole, F&& routine) {
    T best{};
    lapack::Real<T> best_real{};
    int best_whole = 0;
    routine(lapack::Work<T>{&best, -1, &best_real, -1, &best_whole, -1});
    lapack::Work<T> w;
    w.size = std::max(1, static_cast<int>(std::real(best)));
    w.work = take<T>(w.size);
    w.real_size = static_cast<int>(std::max<int64_t>(1, real));
    if constexpr (lapack::kIsComplex<T>) w.real = take<lapack::Real<T>>(w.real_size);
    w.whole_size = static_cast<int>(std::max<int64_t>(1, whole));
    w.whole = take<int>(w.whole_size);
    return w;
  }
  const ffi::Error& error() const { return error_; }

 private:
  ffi::ScratchAllocator& allocator_;
  ffi::Error error_;
};

// Calls f.template operator()<T>() with the C++ type of a dtype that LAPACK has.
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

template <class T>
void fill_nan(T* data, int64_t count) {
  std::fill_n(data, count, T(std::numeric_limits<lapack::Real<T>>::quiet_NaN()));
}

// LAPACK's iterations need not end where a matrix is not finite.
template <class T>
bool all_finite(const T* data, int64_t count) {
  return std::all_of(data, data + count, [](T x) {
    return std::isfinite(std::real(x)) && std::isfinite(std::imag(x));
  });
}

// Copies unless the runtime gave both the same memory.
template <class T>
void copy_unless_same(const T* from, T* to, int64_t count) {
  if (from != to) std::copy_n(from, count, to);
}

// Exchanges row i of a row-major matrix with row pivots[i], for each i in turn, or back.
template <class T>
void exchange_rows(T* matrix, int64_t columns, const int32_t* pivots, int64_t count, bool inverse) {
  for (int64_t step = 0; step < count; ++step) {
    const int64_t row = inverse ? count - 1 - step : step;
    if (pivots[row] == row) continue;
    std::swap_ranges(matrix + row * columns, matrix + (row + 1) * columns,
                     matrix + pivots[row] * columns);
  }
}

}  // namespace farcall::linalg
