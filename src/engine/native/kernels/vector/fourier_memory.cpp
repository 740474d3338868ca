// Numbers of Fourier transforms between memory and lines side by side, and transposes of them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/kernels/vector/fourier_memory.cpp"

#include "engine/native/kernels/movement/stores_past_caches.h"
#include "engine/native/kernels/vector/fourier.h"
#include "engine/native/kernels/vector/prefetch.h"
#include "engine/native/kernels/vector/targets.h"

#include <type_traits>

#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "engine/native/kernels/vector/blocks-inl.h"
#include "engine/native/kernels/vector/fourier-inl.h"

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR  // has one lane
// Calls visit(tag, at) for parts of `size` numbers that are vectors; returns how many are in them.
template <class T, class Visit>
HWY_INLINE int64_t for_vectors(int64_t size, Visit visit) {
  const hn::ScalableTag<T> all;
  const hn::FixedTag<T, 16 / sizeof(T)> block;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));
  constexpr int64_t kBlock = 16 / sizeof(T);
  int64_t at = 0;
  for (; at + kLanes <= size; at += kLanes) visit(all, at);
  for (; at + kBlock <= size; at += kBlock) visit(block, at);
  return at;
}

// Writes numbers of as many lines as a block has numbers, each line in one vector, as rows that are
// `apart` numbers apart. The first number is that of row `row`.
template <class T, class D>
HWY_INLINE void store_transposed(D d, hn::Vec<D>* re, hn::Vec<D>* im, FourierParts<T> to,
                                 int64_t row, int64_t apart) {
  constexpr int64_t kBlock = 16 / sizeof(T);
  transpose_blocks(d, re);
  transpose_blocks(d, im);
#pragma GCC unroll 4
  for (int64_t i = 0; i < kBlock; ++i) {
    const int64_t at = (row + i) * apart;
    store_blocks(d, re[i], to.re + at, kBlock * apart);
    store_blocks(d, im[i], to.im + at, kBlock * apart);
  }
}
#endif

template <class T>
void turn_transposed(const FourierMatrix<T>& matrix) {
  const hn::CappedTag<T, 1> one;
  const int64_t rows = matrix.rows, columns = matrix.columns;
  const auto turned = [&](auto tag, int64_t row, int64_t column) HWY_ATTR {
    using N = Numbers<decltype(tag)>;
    const int64_t at = row * columns + column;
    return product(N::load(matrix.x, at),
                   N{hn::LoadU(tag, matrix.re + at), hn::LoadU(tag, matrix.im + at)});
  };
  const auto turn_one = [&](int64_t row, int64_t column) HWY_ATTR {
    turned(one, row, column).store(matrix.y, column * rows + row);
  };
  int64_t row = 0;
#if HWY_TARGET != HWY_SCALAR
  // Some rows at a time, of which the numbers in each column are a block.
  constexpr int64_t kRows = 16 / sizeof(T);
  for (; row + kRows <= rows; row += kRows) {
    int64_t column = for_vectors<T>(columns, [&](auto d, int64_t first) HWY_ATTR {
      using V = hn::Vec<decltype(d)>;
      V re[kRows], im[kRows];
#pragma GCC unroll 4
      for (int64_t i = 0; i < kRows; ++i) {
        const auto numbers = turned(d, row + i, first);
        re[i] = numbers.re;
        im[i] = numbers.im;
      }
      store_transposed<T>(d, re, im, {matrix.y.re + row, matrix.y.im + row}, first, rows);
    });
    for (; column < columns; ++column) {
      for (int64_t i = 0; i < kRows; ++i) turn_one(row + i, column);
    }
  }
#endif
  for (; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) turn_one(row, column);
  }
}

// ---- numbers in memory

template <class D, class Number>
HWY_INLINE Numbers<D> numbers_at(D d, const Number* x) {
  using T = hn::TFromD<D>;
  if constexpr (std::is_same_v<Number, T>) {
    return {hn::LoadU(d, x), hn::Zero(d)};
  } else {
    Numbers<D> numbers;
    hn::LoadInterleaved2(d, reinterpret_cast<const T*>(x), numbers.re, numbers.im);
    return numbers;
  }
}

template <class D, class Number>
HWY_INLINE void put_numbers(D d, Numbers<D> numbers, Number* y) {
  using T = hn::TFromD<D>;
  if constexpr (std::is_same_v<Number, T>) {
    hn::StoreU(numbers.re, d, y);
  } else {
    hn::StoreInterleaved2(numbers.re, numbers.im, d, reinterpret_cast<T*>(y));
  }
}

// Calls visit(tag, row, lane) for as many lanes as the tag has. Dense rows are one row. Requests
// others ahead: those of a column are on different pages.
template <class T, bool is_written, class Number, class Visit>
HWY_INLINE void for_rows(FourierRows<Number> rows, Visit visit) {
  constexpr int64_t kAhead = is_written ? 6 : 16;
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));
  if (rows.apart == rows.lanes) rows = {rows.first, 1, rows.count * rows.lanes, 0};
  for (int64_t j = 0; j < rows.count; ++j) {
    if (j + kAhead < rows.count) {
      const Number* const ahead = rows.first + (j + kAhead) * rows.apart;
      for (const Number* each : {ahead, ahead + rows.lanes - 1}) {
        is_written ? prefetch_to_write(each) : __builtin_prefetch(each, 0, 2);
      }
    }
    int64_t w = 0;
    for (; w + kLanes <= rows.lanes; w += kLanes) visit(d, j, w);
    for (; w < rows.lanes; ++w) visit(one, j, w);
  }
}

template <class T, class Number>
HWY_INLINE void load_rows(const FourierRows<const Number>& from, FourierParts<T> to) {
  for_rows<T, false>(from, [&](auto d, int64_t j, int64_t w) HWY_ATTR {
    numbers_at(d, from.first + j * from.apart + w).store(to, j * from.lanes + w);
  });
}

template <class T, class Number>
void store_rows_past_caches(FourierParts<T> from, T scale, const FourierRows<Number>& to) {
  constexpr int64_t kPart = kCacheLine / int64_t(sizeof(Number));
  using D = hn::CappedTag<T, kPart>;
  const D d;
  HWY_ALIGN Number line[kPart];
  for (int64_t j = 0; j < to.count; ++j) {
    for (int64_t w = 0; w < to.lanes; w += kPart) {
      for (int64_t i = 0; i < kPart; i += static_cast<int64_t>(hn::MaxLanes(d))) {
        const auto numbers = Numbers<D>::load(from, j * to.lanes + w + i).times(scale);
        put_numbers(d, numbers, line + i);
      }
      store_past_caches(reinterpret_cast<std::byte*>(to.first + j * to.apart + w), line,
                        kCacheLine);
    }
  }
  finish_stores_past_caches();
}

template <class T, class Number>
HWY_INLINE void store_rows(FourierParts<T> from, T scale, const FourierRows<Number>& to) {
  if (to.is_past_caches) return store_rows_past_caches(from, scale, to);
  for_rows<T, true>(to, [&](auto d, int64_t j, int64_t w) HWY_ATTR {
    const auto numbers = Numbers<decltype(d)>::load(from, j * to.lanes + w).times(scale);
    put_numbers(d, numbers, to.first + j * to.apart + w);
  });
}

// Lines whose numbers are dense, as many at a time as a block has numbers.
template <class T, class Number>
void load_dense_lines(const FourierLines<const Number>& from, FourierParts<T> to) {
  const hn::CappedTag<T, 1> one;
  const int64_t lanes = from.lanes;
  const auto load_rest = [&](int64_t w, int64_t begin) HWY_ATTR {
    for (int64_t j = begin; j < from.size; ++j) {
      numbers_at(one, from.first[w] + j).store(to, j * lanes + w);
    }
  };
  int64_t w = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr int64_t kBlock = 16 / sizeof(T);
  for (; w + kBlock <= lanes; w += kBlock) {
    const int64_t rest = for_vectors<T>(from.size, [&](auto d, int64_t j) HWY_ATTR {
      using V = hn::Vec<decltype(d)>;
      V re[kBlock], im[kBlock];
#pragma GCC unroll 4
      for (int64_t i = 0; i < kBlock; ++i) {
        const auto numbers = numbers_at(d, from.first[w + i] + j);
        re[i] = numbers.re;
        im[i] = numbers.im;
      }
      store_transposed<T>(d, re, im, {to.re + w, to.im + w}, j, lanes);
    });
    for (int64_t i = 0; i < kBlock; ++i) load_rest(w + i, rest);
  }
#endif
  for (; w < lanes; ++w) load_rest(w, 0);
}

template <class T, class Number>
void store_dense_lines(FourierParts<T> from, T scale, const FourierLines<Number>& to) {
  const hn::CappedTag<T, 1> one;
  const int64_t lanes = to.lanes;
  const auto store_rest = [&](int64_t w, int64_t begin) HWY_ATTR {
    for (int64_t j = begin; j < to.size; ++j) {
      const auto number = Numbers<hn::CappedTag<T, 1>>::load(from, j * lanes + w).times(scale);
      put_numbers(one, number, to.first[w] + j);
    }
  };
  int64_t w = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr int64_t kBlock = 16 / sizeof(T);
  for (; w + kBlock <= lanes; w += kBlock) {
    const int64_t rest = for_vectors<T>(to.size, [&](auto d, int64_t j) HWY_ATTR {
      using V = hn::Vec<decltype(d)>;
      V re[kBlock], im[kBlock];
#pragma GCC unroll 4
      for (int64_t i = 0; i < kBlock; ++i) {
        const int64_t at = (j + i) * lanes + w;
        re[i] = load_blocks(d, from.re + at, kBlock * lanes);
        im[i] = load_blocks(d, from.im + at, kBlock * lanes);
      }
      transpose_blocks(d, re);
      transpose_blocks(d, im);
#pragma GCC unroll 4
      for (int64_t i = 0; i < kBlock; ++i) {
        const Numbers<decltype(d)> numbers = {re[i], im[i]};
        put_numbers(d, numbers.times(scale), to.first[w + i] + j);
      }
    });
    for (int64_t i = 0; i < kBlock; ++i) store_rest(w + i, rest);
  }
#endif
  for (; w < lanes; ++w) store_rest(w, 0);
}

// ---- halves of real lines

template <class T>
void combine(const FourierHalves<T>& halves) {
  const int64_t lanes = halves.lanes, end = halves.size * lanes, count = halves.size / 2;
  const T *const re = halves.re + 1, *const im = halves.im + 1;
  // `backward` puts numbers that are read or written from k' on in the order from k on.
  const auto combine_part = [&](auto d, int64_t at, int64_t other, auto turn_re, auto turn_im,
                                auto backward) HWY_ATTR {
    using N = Numbers<decltype(d)>;
    const N a = N::load(halves.x, at);
    N b = N::load(halves.x, other);
    b = {backward(b.re), backward(b.im)};
    const N even = N{hn::Add(a.re, b.re), hn::Sub(a.im, b.im)}.times(T(0.5));
    const N odd = N{hn::Sub(a.re, b.re), hn::Add(a.im, b.im)}.times(T(0.5));
    const N turned = product(odd, N{turn_im, hn::Mul(turn_re, hn::Set(d, halves.direction))});
    even.plus(turned).store(halves.y, at);
    const N rest = even.less(turned);
    N{backward(rest.re), backward(hn::Neg(rest.im))}.store(halves.y, other);
  };
  if (lanes == 1) {
    if (count == 0) return;
    for_parts<T>(count, [&](auto d, int64_t i) HWY_ATTR {
      const int64_t other = end - i - static_cast<int64_t>(hn::MaxLanes(d));
      combine_part(d, i + 1, other, hn::LoadU(d, re + i), hn::LoadU(d, im + i),
                   [&](auto v) HWY_ATTR { return hn::Reverse(d, v); });
    });
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = (i + 1) * lanes;
    for_parts<T>(lanes, [&](auto d, int64_t w) HWY_ATTR {
      combine_part(d, at + w, end - at + w, hn::Set(d, re[i]), hn::Set(d, im[i]),
                   [](auto v) HWY_ATTR { return v; });
    });
  }
}

// Highway exports functions, not templates.
#define FARCALL_FOURIER(name, T)                                                     \
  void transpose_##name(const FourierMatrix<T>& matrix) { turn_transposed(matrix); } \
  void combine_##name(const FourierHalves<T>& halves) { combine(halves); }
FARCALL_FOURIER(float, float)
FARCALL_FOURIER(double, double)
#undef FARCALL_FOURIER

#define FARCALL_FOURIER_MEMORY(name, T, Number)                                            \
  void load_##name(const FourierRows<const Number>& from, FourierParts<T> to) {            \
    load_rows(from, to);                                                                   \
  }                                                                                        \
  void load_lines_##name(const FourierLines<const Number>& from, FourierParts<T> to) {     \
    load_dense_lines(from, to);                                                            \
  }                                                                                        \
  void store_##name(FourierParts<T> from, T scale, const FourierRows<Number>& to) {        \
    store_rows(from, scale, to);                                                           \
  }                                                                                        \
  void store_lines_##name(FourierParts<T> from, T scale, const FourierLines<Number>& to) { \
    store_dense_lines(from, scale, to);                                                    \
  }
FARCALL_FOURIER_MEMORY(float, float, float)
FARCALL_FOURIER_MEMORY(double, double, double)
FARCALL_FOURIER_MEMORY(complex64, float, std::complex<float>)
FARCALL_FOURIER_MEMORY(complex128, double, std::complex<double>)
#undef FARCALL_FOURIER_MEMORY

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace farcall::native {

#define FARCALL_FOURIER(name, T)                            \
  namespace {                                               \
  HWY_EXPORT(transpose_##name);                             \
  HWY_EXPORT(combine_##name);                               \
  }                                                         \
  template <>                                               \
  void turn_and_transpose(const FourierMatrix<T>& matrix) { \
    HWY_DYNAMIC_DISPATCH(transpose_##name)(matrix);         \
  }                                                         \
  template <>                                               \
  void combine_halves(const FourierHalves<T>& halves) {     \
    HWY_DYNAMIC_DISPATCH(combine_##name)(halves);           \
  }
FARCALL_FOURIER(float, float)
FARCALL_FOURIER(double, double)
#undef FARCALL_FOURIER

#define FARCALL_FOURIER_MEMORY(name, T, Number)                                       \
  namespace {                                                                         \
  HWY_EXPORT(load_##name);                                                            \
  HWY_EXPORT(load_lines_##name);                                                      \
  HWY_EXPORT(store_##name);                                                           \
  HWY_EXPORT(store_lines_##name);                                                     \
  }                                                                                   \
  template <>                                                                         \
  void load_numbers(const FourierRows<const Number>& from, FourierParts<T> to) {      \
    HWY_DYNAMIC_DISPATCH(load_##name)(from, to);                                      \
  }                                                                                   \
  template <>                                                                         \
  void load_numbers(const FourierLines<const Number>& from, FourierParts<T> to) {     \
    HWY_DYNAMIC_DISPATCH(load_lines_##name)(from, to);                                \
  }                                                                                   \
  template <>                                                                         \
  void store_numbers(FourierParts<T> from, T scale, const FourierRows<Number>& to) {  \
    HWY_DYNAMIC_DISPATCH(store_##name)(from, scale, to);                              \
  }                                                                                   \
  template <>                                                                         \
  void store_numbers(FourierParts<T> from, T scale, const FourierLines<Number>& to) { \
    HWY_DYNAMIC_DISPATCH(store_lines_##name)(from, scale, to);                        \
  }
FARCALL_FOURIER_MEMORY(float, float, float)
FARCALL_FOURIER_MEMORY(double, double, double)
FARCALL_FOURIER_MEMORY(complex64, float, std::complex<float>)
FARCALL_FOURIER_MEMORY(complex128, double, std::complex<double>)
#undef FARCALL_FOURIER_MEMORY

}  // namespace farcall::native
#endif
