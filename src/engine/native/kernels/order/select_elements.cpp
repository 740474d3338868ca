#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/kernels/order/select_elements.cpp"

#include "engine/native/kernels/order/select_elements.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "engine/native/kernels/vector/targets.h"

#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
constexpr T kHighest = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                            : std::numeric_limits<T>::max();

// ---- elements above a limit

inline constexpr int64_t kTested = 64;
// Indices are written so many at a time, though most of them may mean nothing: the processor cannot
// guess how many there are.
inline constexpr int kWritten = 4;
static_assert(kWritten <= kSelectPadding);

template <bool kOrEqual, class D>
HWY_INLINE hn::Mask<D> stays_within(D, hn::Vec<D> x, hn::Vec<D> limit) {
  if constexpr (kOrEqual) {
    return hn::Lt(x, limit);
  } else if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
    return hn::Le(x, limit);
  } else {
    return hn::Not(hn::Lt(limit, x));
  }
}
template <bool kOrEqual, class T>
HWY_INLINE bool stays_within(T x, T limit) {
  return kOrEqual ? x < limit : x <= limit;
}

// Bit j is set if x[j] exceeds the limit.
template <bool kOrEqual, class T>
HWY_INLINE uint64_t bits_of_elements(const T* x, T limit) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto most = hn::Set(d, limit);
  uint64_t within = 0;
  HWY_UNROLL(8)
  for (int64_t j = 0; j < kTested; j += lanes) {
    uint8_t bytes[8];
    hn::StoreMaskBits(d, stays_within<kOrEqual>(d, hn::LoadU(d, x + j), most), bytes);
    uint64_t some = 0;
    std::memcpy(&some, bytes, (hn::MaxLanes(d) + 7) / 8);
    within |= some << j;
  }
  return ~within;
}

template <class T>
HWY_INLINE bool any_exceeds(const T* x, T limit) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto most = hn::Set(d, limit);
  auto within = stays_within<false>(d, hn::LoadU(d, x), most);
  HWY_UNROLL(8)
  for (int64_t j = lanes; j < kTested; j += lanes) {
    within = hn::And(within, stays_within<false>(d, hn::LoadU(d, x + j), most));
  }
  return !hn::AllTrue(d, within);
}

template <bool kOrEqual, class T>
HWY_INLINE int64_t find_elements(const T* x, int64_t size, T limit, int32_t* indices) {
  int64_t count = 0, i = 0;
  for (; i + kTested <= size; i += kTested) {
    // Most elements are compared with the last of those found before, and few exceed that.
    if (!kOrEqual && !any_exceeds(x + i, limit)) continue;
    uint64_t bits = bits_of_elements<kOrEqual>(x + i, limit);
    const int64_t end = count + std::popcount(bits);
    do {
      for (int n = 0; n < kWritten; ++n, bits &= bits - 1) {
        indices[count + n] = static_cast<int32_t>(i + std::countr_zero(bits));
      }
      count += kWritten;
    } while (count < end);
    count = end;
  }
  for (; i < size; ++i) {
    if (!stays_within<kOrEqual>(x[i], limit)) indices[count++] = static_cast<int32_t>(i);
  }
  return count;
}

template <class T>
int64_t find(const void* x, int64_t size, const void* limit, bool or_equal, int32_t* indices) {
  const auto* from = static_cast<const T*>(x);
  const T least = *static_cast<const T*>(limit);
  return or_equal ? find_elements<true>(from, size, least, indices)
                  : find_elements<false>(from, size, least, indices);
}

// ---- a bound

// Columns are the elements whose indices have the same remainder. The k-th greatest among the
// greatest of more than k columns is a bound: k columns have an element that reaches it. With twice
// as many columns as k, about 1.4 k elements reach it if they are in random order.
inline constexpr int64_t kLeastColumns = 16, kMostColumns = 2 * kMostBounded;

// x if y is NaN.
template <class V>
HWY_INLINE V greater_number(V x, V y) {
  return hn::IfThenElse(hn::Lt(x, y), y, x);
}

// Ignores elements after the last multiple of the number of columns.
template <class T>
HWY_INLINE void greatest_of_columns(const T* x, int64_t size, int64_t num_columns, T* greatest) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t end = size - num_columns;  // of the first elements of rows
  const auto lowest = hn::Set(d, kLowestElement<T>);
  int64_t column = 0;
  for (; column + 4 * lanes <= num_columns; column += 4 * lanes) {
    auto a = lowest, b = lowest, c = lowest, e = lowest;
    for (int64_t i = 0; i <= end; i += num_columns) {
      const T* const from = x + column + i;
      a = greater_number(a, hn::LoadU(d, from));
      b = greater_number(b, hn::LoadU(d, from + lanes));
      c = greater_number(c, hn::LoadU(d, from + 2 * lanes));
      e = greater_number(e, hn::LoadU(d, from + 3 * lanes));
    }
    hn::Store(a, d, greatest + column);
    hn::Store(b, d, greatest + column + lanes);
    hn::Store(c, d, greatest + column + 2 * lanes);
    hn::Store(e, d, greatest + column + 3 * lanes);
  }
  for (; column < num_columns; column += lanes) {
    auto a = lowest;
    for (int64_t i = 0; i <= end; i += num_columns) {
      a = greater_number(a, hn::LoadU(d, x + column + i));
    }
    hn::Store(a, d, greatest + column);
  }
}

// Merges the columns of the second half with those of the first.
template <class T>
HWY_INLINE void halve(T* greatest, int64_t half) {
  const hn::ScalableTag<T> d;
  for (int64_t i = 0; i < half; i += static_cast<int64_t>(hn::Lanes(d))) {
    hn::Store(greater_number(hn::Load(d, greatest + i), hn::Load(d, greatest + half + i)), d,
              greatest + i);
  }
}

// The k-th greatest of `size` numbers.
template <class T>
HWY_INLINE T kth_greatest(const T* x, int64_t size, int64_t k) {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> counts;
  using Count = hn::TFromD<decltype(counts)>;
  const auto end = hn::Set(counts, static_cast<Count>(k)), one = hn::Set(counts, Count(1));
  auto found = hn::Set(d, kHighest<T>);
  for (int64_t i = 0; i < size; i += static_cast<int64_t>(hn::Lanes(d))) {
    const auto v = hn::Load(d, x + i);
    auto num_greater = hn::Zero(counts);
    HWY_UNROLL(4)
    for (int64_t j = 0; j < size; ++j) {
      const auto is_greater = hn::RebindMask(counts, hn::Lt(v, hn::Set(d, x[j])));
      num_greater = hn::IfThenElse(is_greater, hn::Add(num_greater, one), num_greater);
    }
    const auto is_among_first = hn::RebindMask(d, hn::Lt(num_greater, end));
    found = hn::IfThenElse(hn::And(is_among_first, hn::Lt(v, found)), v, found);
  }
  HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(found, d, lanes);
  return *std::min_element(lanes, lanes + hn::Lanes(d));
}

template <class T>
void bound(const void* x, int64_t size, int64_t k, void* result) {
  auto& bound = *static_cast<T*>(result);
  bound = kLowestElement<T>;
  const int64_t num_columns = (2 * k + kLeastColumns - 1) / kLeastColumns * kLeastColumns;
  if (size < 2 * num_columns) return;
  // Four vectors are independent of each other, which takes less time.
  const auto four_vectors = 4 * static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  int64_t width = num_columns;
  while (width < four_vectors && size >= 8 * width) width *= 2;
  HWY_ALIGN T greatest[kMostColumns];
  greatest_of_columns(static_cast<const T*>(x), size, width, greatest);
  for (; width > num_columns; width /= 2) halve(greatest, width / 2);
  bound = kth_greatest(greatest, num_columns, k);
}

SelectLoops loops_of(DType dtype) {
  switch (dtype) {
    case DType::kInt32:
      return {find<int32_t>, bound<int32_t>};
    case DType::kUInt32:
      return {find<uint32_t>, bound<uint32_t>};
    case DType::kInt64:
      return {find<int64_t>, bound<int64_t>};
    case DType::kUInt64:
      return {find<uint64_t>, bound<uint64_t>};
    case DType::kFloat32:
      return {find<float>, bound<float>};
    case DType::kFloat64:
      return {find<double>, bound<double>};
    default:
      return {};
  }
}

// ---- the order of few words

// For each lane, the number of words that are less.
template <class D, class V>
HWY_INLINE V ranks_of(D d, V lanes, const uint64_t* words, int64_t size) {
  const V one = hn::Set(d, 1u);
  V rank = hn::Zero(d);
  HWY_UNROLL(4)
  for (int64_t i = 0; i < size; ++i) {
    rank = hn::IfThenElse(hn::Lt(hn::Set(d, words[i]), lanes), hn::Add(rank, one), rank);
  }
  return rank;
}

void sort_first_words(uint64_t* words, int64_t size, int64_t k, uint64_t* sorted) {
  const hn::ScalableTag<uint64_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto last = hn::Set(d, static_cast<uint64_t>(k));
  std::fill_n(words + size, lanes, std::numeric_limits<uint64_t>::max());
  HWY_ALIGN uint64_t ranks[HWY_MAX_BYTES / sizeof(uint64_t)];
  for (int64_t i = 0; i < size; i += lanes) {
    const auto rank = ranks_of(d, hn::LoadU(d, words + i), words, size);
    hn::Store(hn::Min(rank, last), d, ranks);
    for (int64_t lane = 0; lane < lanes; ++lane) sorted[ranks[lane]] = words[i + lane];
  }
}

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace farcall::native {
namespace {
HWY_EXPORT(loops_of);
HWY_EXPORT(sort_first_words);
}  // namespace

SelectLoops select_loops(DType dtype) { return HWY_DYNAMIC_DISPATCH(loops_of)(dtype); }

void sort_first(uint64_t* words, int64_t size, int64_t k, uint64_t* sorted) {
  HWY_DYNAMIC_DISPATCH(sort_first_words)(words, size, k, sorted);
}

}  // namespace farcall::native
#endif
