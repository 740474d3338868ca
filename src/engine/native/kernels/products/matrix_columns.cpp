// Rows times matrices with dense columns, and many small products.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/kernels/products/matrix_columns.cpp"

#include "engine/native/kernels/products/matrix_tile.h"
#include "engine/native/kernels/vector/targets.h"

#include <algorithm>
#include <type_traits>

#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "engine/native/kernels/products/partial-inl.h"
#include "engine/native/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Columns whose sums fit in 32 registers, and in 16.
#if HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr int64_t kColumnsAtOnce = 4;
#else
constexpr int64_t kColumnsAtOnce = 2;
#endif

// ---- sums along dense columns

// Adds the upper half to the lower half until one lane is left.
template <class D>
HWY_INLINE hn::TFromD<D> sum_of_lanes(D d, hn::Vec<D> v) {
#if HWY_TARGET == HWY_SCALAR
  static_cast<void>(d);
#else
  if constexpr (hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) > 16) {
    const hn::Half<D> half;
    return sum_of_lanes(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else if constexpr (sizeof(hn::TFromD<D>) == 4) {
    v = hn::Add(v, hn::Shuffle1032(v));
    v = hn::Add(v, hn::Shuffle2301(v));
  } else {
    v = hn::Add(v, hn::Shuffle01(v));
  }
#endif
  return hn::GetLane(v);
}

// Lane i of the result is the sum of the lanes of vectors[i], added as sum_of_lanes() does. There
// are as many vectors as lanes; they are overwritten.
template <class D>
HWY_INLINE hn::Vec<D> sums_of_lanes(D d, hn::Vec<D>* vectors) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(d, sum_of_lanes(d, vectors[0]));
#else
  using T = hn::TFromD<D>;
  constexpr size_t kLanes = hn::MaxLanes(D()), kLanesOfBlock = 16 / sizeof(T);
  size_t left = kLanes;
  // Adds halves of two vectors, and puts the sums into one.
  const auto halve = [&](auto lower, auto upper) HWY_ATTR {
    left /= 2;
#pragma GCC unroll 8
    for (size_t i = 0; i < left; ++i) {
      const auto x = vectors[i], y = vectors[i + left];
      vectors[i] = hn::Add(lower(x, y), upper(x, y));
    }
  };
  if constexpr (kLanes > kLanesOfBlock) {
    halve([&](auto x, auto y) HWY_ATTR { return hn::ConcatLowerLower(d, y, x); },
          [&](auto x, auto y) HWY_ATTR { return hn::ConcatUpperUpper(d, y, x); });
  }
  if constexpr (kLanes > 2 * kLanesOfBlock) {
    halve([](auto x, auto y) HWY_ATTR { return hn::OddEvenBlocks(hn::SwapAdjacentBlocks(y), x); },
          [](auto x, auto y) HWY_ATTR { return hn::OddEvenBlocks(y, hn::SwapAdjacentBlocks(x)); });
  }
  if constexpr (sizeof(T) == 4) {
    const hn::RepartitionToWide<D> wide;
    const auto of = [&](auto v) HWY_ATTR { return hn::BitCast(wide, v); };
    halve([&](auto x, auto y)
              HWY_ATTR { return hn::BitCast(d, hn::InterleaveLower(wide, of(x), of(y))); },
          [&](auto x, auto y)
              HWY_ATTR { return hn::BitCast(d, hn::InterleaveUpper(wide, of(x), of(y))); });
    halve([](auto x, auto y) HWY_ATTR { return hn::OddEven(hn::DupEven(y), x); },
          [](auto x, auto y) HWY_ATTR { return hn::OddEven(y, hn::DupOdd(x)); });
  } else {
    halve([&](auto x, auto y) HWY_ATTR { return hn::InterleaveLower(d, x, y); },
          [&](auto x, auto y) HWY_ATTR { return hn::InterleaveUpper(d, x, y); });
  }
  return vectors[0];
#endif
}

// The products of kColumns columns of B with x, each accumulated in kDotBytes of sums, which are
// added to one vector for each column.
template <int64_t kColumns, class T>
HWY_INLINE void dot_columns(const T* x, const T* b, int64_t stride, int64_t size,
                            hn::Vec<hn::ScalableTag<T>>* result) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kLanes = kDotBytes / sizeof(T);
  constexpr auto kVectorLanes = static_cast<int64_t>(hn::MaxLanes(d));
  constexpr int64_t kNumVectors = kLanes / kVectorLanes;
  V sums[kColumns][kNumVectors];
#pragma GCC unroll 8
  for (int64_t j = 0; j < kColumns; ++j) {
#pragma GCC unroll 16
    for (int64_t v = 0; v < kNumVectors; ++v) sums[j][v] = hn::Zero(d);
  }
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
#pragma GCC unroll 16
    for (int64_t v = 0; v < kNumVectors; ++v) {
      const V factor = hn::LoadU(d, x + i + v * kVectorLanes);
#pragma GCC unroll 8
      for (int64_t j = 0; j < kColumns; ++j) {
        const V column = hn::LoadU(d, b + j * stride + i + v * kVectorLanes);
        sums[j][v] = hn::MulAdd(factor, column, sums[j][v]);
      }
    }
  }
#pragma GCC unroll 16
  for (int64_t v = 0; v < kNumVectors; ++v) {
    const int64_t left = size - i - v * kVectorLanes;
    if (left <= 0) break;
    const auto load = [&](const T* from) HWY_ATTR {
      return left >= kVectorLanes ? hn::LoadU(d, from) : load_first(d, from, left);
    };
    const V factor = load(x + i + v * kVectorLanes);
#pragma GCC unroll 8
    for (int64_t j = 0; j < kColumns; ++j) {
      sums[j][v] = hn::MulAdd(factor, load(b + j * stride + i + v * kVectorLanes), sums[j][v]);
    }
  }
#pragma GCC unroll 8
  for (int64_t j = 0; j < kColumns; ++j) {
#pragma GCC unroll 8
    for (int64_t half = kNumVectors / 2; half > 0; half /= 2) {
#pragma GCC unroll 16
      for (int64_t v = 0; v < half; ++v) sums[j][v] = hn::Add(sums[j][v], sums[j][v + half]);
    }
    result[j] = sums[j][0];
  }
}

template <class T>
void dot_all_columns(const Product& tile, Tiles& tiles) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto *x = static_cast<const T*>(tile.a.data), *b = static_cast<const T*>(tile.b.data);
  auto* const c = static_cast<T*>(tile.c);
  const int64_t stride = tile.b.column_stride;
  constexpr auto kVectorLanes = static_cast<int64_t>(hn::MaxLanes(d));
  constexpr int64_t kColumns = std::min(kColumnsAtOnce, kVectorLanes);
  int64_t j = 0;
  for (; j + kVectorLanes <= tile.n; j += kVectorLanes) {
    if (!tiles.go_on(kVectorLanes * tile.k)) return;
    V sums[kVectorLanes];
#pragma GCC unroll 8
    for (int64_t i = 0; i < kVectorLanes; i += kColumns) {
      dot_columns<kColumns>(x, b + (j + i) * stride, stride, tile.k, sums + i);
    }
    hn::StoreU(sums_of_lanes(d, sums), d, c + j);
  }
  for (; j < tile.n; ++j) {
    if (!tiles.go_on(tile.k)) return;
    V sum;
    dot_columns<1>(x, b + j * stride, stride, tile.k, &sum);
    c[j] = sum_of_lanes(d, sum);
  }
}

// ---- many small products

// The number of adjacent elements in which a dense matrix lies.
int64_t extent_of(int64_t rows, int64_t columns, const Matrix& matrix) {
  return (rows - 1) * matrix.row_stride + (columns - 1) * matrix.column_stride + 1;
}

// Products whose matrices fit into one vector each: two permutations and one multiplication for
// each of the kDepth terms.
template <int64_t kDepth, class T>
void multiply_in_vectors(const Product& p, int64_t first, int64_t last) {
  const hn::ScalableTag<T> d;
  using Number = hn::TFromD<hn::RebindToSigned<decltype(d)>>;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  const int64_t size = p.m * p.n;
  const int64_t a_size = extent_of(p.m, p.k, p.a), b_size = extent_of(p.k, p.n, p.b);
  using Places = decltype(hn::SetTableIndices(d, static_cast<const Number*>(nullptr)));
  Places from_a[kDepth], from_b[kDepth];
#pragma GCC unroll 4
  for (int64_t k = 0; k < kDepth; ++k) {
    Number a_places[kLanes] = {}, b_places[kLanes] = {};
    for (int64_t i = 0; i < size; ++i) {
      const int64_t row = i / p.n, column = i % p.n;
      a_places[i] = static_cast<Number>(row * p.a.row_stride + k * p.a.column_stride);
      b_places[i] = static_cast<Number>(k * p.b.row_stride + column * p.b.column_stride);
    }
    from_a[k] = hn::SetTableIndices(d, a_places);
    from_b[k] = hn::SetTableIndices(d, b_places);
  }
  const int64_t a_step = p.batches.a_strides[0], b_step = p.batches.b_strides[0];
  const auto* a = static_cast<const T*>(p.a.data) + first * a_step;
  const auto* b = static_cast<const T*>(p.b.data) + first * b_step;
  auto* c = static_cast<T*>(p.c) + first * size;
  for (int64_t batch = first; batch < last; ++batch, a += a_step, b += b_step, c += size) {
    const auto all_a = load_first(d, a, a_size), all_b = load_first(d, b, b_size);
    auto sum = hn::Zero(d);
#pragma GCC unroll 4
    for (int64_t k = 0; k < kDepth; ++k) {
      sum = hn::MulAdd(hn::TableLookupLanes(all_a, from_a[k]),
                       hn::TableLookupLanes(all_b, from_b[k]), sum);
    }
    store_first(sum, d, c, size);
  }
}

// The same for a row and a matrix with dense columns: the terms of all columns are multiplied at
// once, and added in the order of sum_of_lanes().
template <int64_t kDepth, class T>
void dot_in_vectors(const Product& p, int64_t first, int64_t last) {
  const hn::ScalableTag<T> d;
  using Number = hn::TFromD<hn::RebindToSigned<decltype(d)>>;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  const int64_t b_size = extent_of(p.k, p.n, p.b);
  using Places = decltype(hn::SetTableIndices(d, static_cast<const Number*>(nullptr)));
  Number a_places[kLanes] = {};
  for (int64_t i = 0; i < p.n * kDepth; ++i) {
    a_places[i / kDepth * p.b.column_stride + i % kDepth] = static_cast<Number>(i % kDepth);
  }
  const Places from_a = hn::SetTableIndices(d, a_places);
  Places of_term[kDepth];
#pragma GCC unroll 4
  for (int64_t k = 0; k < kDepth; ++k) {
    Number places[kLanes] = {};
    for (int64_t j = 0; j < p.n; ++j) {
      places[j] = static_cast<Number>(j * p.b.column_stride + k);
    }
    of_term[k] = hn::SetTableIndices(d, places);
  }
  const int64_t a_step = p.batches.a_strides[0], b_step = p.batches.b_strides[0];
  const auto* a = static_cast<const T*>(p.a.data) + first * a_step;
  const auto* b = static_cast<const T*>(p.b.data) + first * b_step;
  auto* c = static_cast<T*>(p.c) + first * p.n;
  const auto zero = hn::Zero(d);
  for (int64_t batch = first; batch < last; ++batch, a += a_step, b += b_step, c += p.n) {
    const auto row = hn::TableLookupLanes(load_first(d, a, kDepth), from_a);
    // The sum of a term and zero is positive zero if the term is negative zero.
    const auto terms = hn::Add(hn::MulAdd(row, load_first(d, b, b_size), zero), zero);
    const auto term = [&](int64_t k) HWY_ATTR { return hn::TableLookupLanes(terms, of_term[k]); };
    auto even = term(0), odd = term(1);
    if constexpr (kDepth > 2) even = hn::Add(even, term(2));
    if constexpr (kDepth > 3) odd = hn::Add(odd, term(3));
    store_first(hn::Add(even, odd), d, c, p.n);
  }
}

// Returns whether the products have such matrices.
template <class T>
bool try_in_vectors(const Product& p, int64_t first, int64_t last) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));
  if (p.k < 2 || p.k > 4 || p.c_row_stride != p.n || extent_of(p.k, p.n, p.b) > kLanes) {
    return false;
  }
  const bool is_row = is_dot(p);
  if (is_row ? p.b.column_stride < p.k
             : p.m == 1 || p.m * p.n > kLanes || extent_of(p.m, p.k, p.a) > kLanes) {
    return false;
  }
  const auto run = [&]<int64_t kDepth>(std::integral_constant<int64_t, kDepth>) {
    if (p.k != kDepth) return;
    const auto multiply = is_row ? dot_in_vectors<kDepth, T> : multiply_in_vectors<kDepth, T>;
    multiply(p, first, last);
  };
  run(std::integral_constant<int64_t, 2>());
  run(std::integral_constant<int64_t, 3>());
  run(std::integral_constant<int64_t, 4>());
  return true;
}

// The result of each is as that of the functions above.
template <class T>
bool multiply_each(const Product& p, int64_t first, int64_t last) {
  constexpr int64_t kMostLoads = 32;
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  const bool is_of_columns = is_dot(p);
  const bool has_rows = p.m > 1 && p.b.column_stride == 1;
  if (!FARCALL_HAS_MASKS || p.batches.sizes.size() != 1) return false;
  if (try_in_vectors<T>(p, first, last)) return true;
  if (p.n > kLanes || p.k > kLanes ||
      !(is_of_columns ? p.n <= kMostLoads : has_rows && p.m * p.k <= kMostLoads)) {
    return false;
  }
  const int64_t a_step = p.batches.a_strides[0], b_step = p.batches.b_strides[0];
  const auto* a = static_cast<const T*>(p.a.data) + first * a_step;
  const auto* b = static_cast<const T*>(p.b.data) + first * b_step;
  auto* c = static_cast<T*>(p.c) + first * p.m * p.c_row_stride;
  for (int64_t batch = first; batch < last; ++batch, a += a_step, b += b_step) {
    if (is_of_columns) {
      const V x = load_first(d, a, p.k);
      for (int64_t j = 0; j < p.n; ++j) {
        const V column = load_first(d, b + j * p.b.column_stride, p.k);
        c[j] = sum_of_lanes(d, hn::MulAdd(x, column, hn::Zero(d)));
      }
      c += p.c_row_stride;
      continue;
    }
    for (int64_t i = 0; i < p.m; ++i, c += p.c_row_stride) {
      V sum = hn::Zero(d);
      for (int64_t k = 0; k < p.k; ++k) {
        const V row = load_first(d, b + k * p.b.row_stride, p.n);
        sum = hn::MulAdd(hn::Set(d, a[i * p.a.row_stride + k * p.a.column_stride]), row, sum);
      }
      store_first(sum, d, c, p.n);
    }
  }
  return true;
}

bool each_float(const Product& p, int64_t first, int64_t last) {
  return multiply_each<float>(p, first, last);
}
bool each_double(const Product& p, int64_t first, int64_t last) {
  return multiply_each<double>(p, first, last);
}
void dot_float(const Product& tile, Tiles& tiles) { dot_all_columns<float>(tile, tiles); }
void dot_double(const Product& tile, Tiles& tiles) { dot_all_columns<double>(tile, tiles); }

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace farcall::native {
namespace {

HWY_EXPORT(each_float);
HWY_EXPORT(each_double);
HWY_EXPORT(dot_float);
HWY_EXPORT(dot_double);

}  // namespace

template <>
bool multiply_small<float>(const Product& p, int64_t first, int64_t last) {
  return HWY_DYNAMIC_DISPATCH(each_float)(p, first, last);
}
template <>
bool multiply_small<double>(const Product& p, int64_t first, int64_t last) {
  return HWY_DYNAMIC_DISPATCH(each_double)(p, first, last);
}

template <>
void multiply_dense_columns<float>(const Product& tile, Tiles& tiles) {
  HWY_DYNAMIC_DISPATCH(dot_float)(tile, tiles);
}
template <>
void multiply_dense_columns<double>(const Product& tile, Tiles& tiles) {
  HWY_DYNAMIC_DISPATCH(dot_double)(tile, tiles);
}

}  // namespace farcall::native
#endif
