#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/kernels/reductions/extremes.cpp"

#include "engine/native/kernels/reductions/extremes.h"

#include <algorithm>

#include "engine/native/kernels/vector/targets.h"

#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "engine/native/kernels/vector/blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// All functions here take at least one vector of D. Some elements of the last vectors are taken
// twice, which changes nothing.

// Calls four(from) for four vectors at a time, or, for short runs, one(from) for each vector. The
// last vector of a short run is left out.
template <class D, class T, class Four, class One>
HWY_INLINE void for_vectors(D d, const T* x, int64_t size, const Four& four, const One& one) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d)), step = 4 * lanes;
  if (size >= step) {
    for (int64_t i = 0; i + step < size; i += step) four(x + i);
    four(x + size - step);
  } else {
    for (int64_t i = 0; i + lanes < size; i += lanes) one(x + i);
  }
}

// Returns false if there are NaNs.
template <bool is_max, class D, class T>
bool extreme_of(D d, const T* x, int64_t size, T* result) {
  using V = hn::Vec<D>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto better = [](V a, V b) { return is_max ? hn::Max(a, b) : hn::Min(a, b); };
  V best0 = hn::LoadU(d, x + size - lanes), best1 = best0, best2 = best0, best3 = best0;
  auto are_numbers = hn::Eq(best0, best0);
  const auto take = [&](const T* from) {
    const V a = hn::LoadU(d, from), b = hn::LoadU(d, from + lanes);
    const V c = hn::LoadU(d, from + 2 * lanes), e = hn::LoadU(d, from + 3 * lanes);
    best0 = better(best0, a);
    best1 = better(best1, b);
    best2 = better(best2, c);
    best3 = better(best3, e);
    are_numbers = hn::And(are_numbers, hn::And(hn::Eq(a, a), hn::Eq(b, b)));
    are_numbers = hn::And(are_numbers, hn::And(hn::Eq(c, c), hn::Eq(e, e)));
  };
  for_vectors(d, x, size, take, [&](const T* from) {
    const V next = hn::LoadU(d, from);
    best0 = better(best0, next);
    are_numbers = hn::And(are_numbers, hn::Eq(next, next));
  });
  best0 = better(better(best0, best1), better(best2, best3));
  *result = hn::GetLane(is_max ? hn::MaxOfLanes(d, best0) : hn::MinOfLanes(d, best0));
  return hn::AllTrue(d, are_numbers);
}

// The extreme value of a run where it is a zero: +0 is above -0.
template <bool is_max, class D, class T>
T zero_of(D d, const T* x, int64_t size) {
  const hn::RebindToUnsigned<D> bits;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const T best = is_max ? T(0) : T(-0.0);
  const auto wanted = hn::BitCast(bits, hn::Set(d, best));
  for (int64_t i = 0; i < size; i += lanes) {
    const auto next = hn::BitCast(bits, hn::LoadU(d, x + std::min(i, size - lanes)));
    if (!hn::AllFalse(bits, hn::Eq(next, wanted))) return best;
  }
  return -best;
}

// Halves in the order of their values, as integers. NaNs are the most and the least of them.
template <class V>
HWY_INLINE V ordered(V bits) {
  const hn::DFromV<V> d;
  return hn::Xor(bits, hn::And(hn::ShiftRight<15>(bits), hn::Set(d, int16_t{0x7fff})));
}

template <bool is_max, class D>
uint16_t extreme_of_halves(D d, const int16_t* x, int64_t size, uint16_t infinity) {
  using V = hn::Vec<D>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V least0 = ordered(hn::LoadU(d, x + size - lanes)), most0 = least0;
  V least1 = least0, most1 = least0;
  const auto take = [&](const int16_t* from) {
    const V a = ordered(hn::LoadU(d, from)), b = ordered(hn::LoadU(d, from + lanes));
    const V c = ordered(hn::LoadU(d, from + 2 * lanes));
    const V e = ordered(hn::LoadU(d, from + 3 * lanes));
    least0 = hn::Min(least0, hn::Min(a, b));
    least1 = hn::Min(least1, hn::Min(c, e));
    most0 = hn::Max(most0, hn::Max(a, b));
    most1 = hn::Max(most1, hn::Max(c, e));
  };
  for_vectors(d, x, size, take, [&](const int16_t* from) {
    const V next = ordered(hn::LoadU(d, from));
    least0 = hn::Min(least0, next);
    most0 = hn::Max(most0, next);
  });
  least0 = hn::Min(least0, least1);
  most0 = hn::Max(most0, most1);
  const int16_t least = hn::GetLane(hn::MinOfLanes(d, least0));
  const int16_t most = hn::GetLane(hn::MaxOfLanes(d, most0));
  const auto limit = static_cast<int16_t>(infinity);
  if (most > limit || least < ~limit) return static_cast<uint16_t>(0x7fff);
  const int16_t best = is_max ? most : least;
  return static_cast<uint16_t>(best ^ ((best >> 15) & 0x7fff));
}

template <class D, class T>
int64_t position_of(D d, const T* x, int64_t size, T value) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0;; i += lanes) {
    const int64_t at = std::min(i, size - lanes);
    const auto here = hn::FindFirstTrue(d, hn::Eq(hn::LoadU(d, x + at), hn::Set(d, value)));
    if (here >= 0) return at + here;
  }
}

// Calls visit(d) with the longest vector that a run of this size fills.
template <class T, size_t lanes = hn::MaxLanes(hn::ScalableTag<T>()), class Visit>
HWY_INLINE auto in_vectors(int64_t size, const Visit& visit) {
  if constexpr (lanes > static_cast<size_t>(kLeastExtremeRun)) {
    if (size < static_cast<int64_t>(lanes)) return in_vectors<T, lanes / 2>(size, visit);
  }
  return visit(hn::CappedTag<T, lanes>());
}

template <bool is_max, class T>
int64_t extremes_of_runs(const T* x, int64_t count, int64_t size, T* results) {
  return in_vectors<T>(size, [&](auto d) {
    for (int64_t i = 0; i < count; ++i, x += size) {
      if (!extreme_of<is_max>(d, x, size, &results[i])) return i;
      if (results[i] == 0) results[i] = zero_of<is_max>(d, x, size);
    }
    return count;
  });
}

template <bool is_max>
void extremes_of_rows_of_halves(const uint16_t* x, int64_t count, int64_t size, uint16_t infinity,
                                uint16_t* results) {
  in_vectors<int16_t>(size, [&](auto d) {
    const auto* row = reinterpret_cast<const int16_t*>(x);
    for (int64_t i = 0; i < count; ++i, row += size) {
      results[i] = extreme_of_halves<is_max>(d, row, size, infinity);
    }
  });
}

template <bool is_max, class T>
int64_t position_of_extreme(const T* x, int64_t size) {
  return in_vectors<T>(size, [&](auto d) {
    T found;
    return extreme_of<is_max>(d, x, size, &found) ? position_of(d, x, size, found) : -1;
  });
}

// As many rows as D has lanes.
template <bool is_max, class D, class T>
HWY_INLINE void positions_in_some_rows(D d, const T* x, int64_t size, int64_t* positions) {
  const hn::RebindToSigned<D> integers;
  using V = hn::Vec<D>;
  using Integer = hn::TFromD<decltype(integers)>;
  constexpr size_t kLanes = hn::MaxLanes(D());
  const auto offsets =
      hn::Mul(hn::Iota(integers, 0), hn::Set(integers, static_cast<Integer>(size)));
  V best = hn::GatherIndex(d, x, offsets);
  auto position = hn::Zero(integers);
  const auto take = [&](int64_t i, V next) HWY_ATTR {
    auto is_new = is_max ? hn::Gt(next, best) : hn::Lt(next, best);
    if constexpr (hwy::IsFloat<T>()) {
      is_new = hn::Or(is_new, hn::AndNot(hn::IsNaN(best), hn::IsNaN(next)));
    }
    best = hn::IfThenElse(is_new, next, best);
    position = hn::IfThenElse(hn::RebindMask(integers, is_new),
                              hn::Set(integers, static_cast<Integer>(i)), position);
  };
  int64_t i = 1;
#if HWY_TARGET != HWY_SCALAR
  // Columns a block at a time, which takes less than gathering each.
  constexpr int64_t kBlock = 16 / sizeof(T);
  if constexpr (kLanes >= kBlock) {
    while (i < size && size >= kBlock) {
      const int64_t first = std::min(i, size - kBlock);
      V columns[kBlock];
      for (int64_t row = 0; row < kBlock; ++row) {
        columns[row] = load_blocks(d, x + row * size + first, kBlock * size);
      }
      transpose_blocks(d, columns);
      for (; i < first + kBlock; ++i) take(i, columns[i - first]);
    }
  }
#endif
  for (; i < size; ++i) take(i, hn::GatherIndex(d, x + i, offsets));
  HWY_ALIGN Integer lanes[kLanes];
  hn::Store(position, integers, lanes);
  for (size_t row = 0; row < kLanes; ++row) positions[row] = lanes[row];
}

template <bool is_max, class T>
void positions_in_rows(const T* x, int64_t count, int64_t size, int64_t* positions) {
  const hn::ScalableTag<T> d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));
  int64_t row = 0;
  for (; row + kLanes <= count; row += kLanes) {
    positions_in_some_rows<is_max>(d, x + row * size, size, positions + row);
  }
  for (; row < count; ++row) {
    positions_in_some_rows<is_max>(hn::CappedTag<T, 1>(), x + row * size, size, positions + row);
  }
}

// Highway exports functions, not templates.
#define FARCALL_POSITIONS_IN_ROWS(name, T)                                              \
  void name(const T* x, int64_t count, int64_t size, bool is_max, int64_t* positions) { \
    is_max ? positions_in_rows<true>(x, count, size, positions)                         \
           : positions_in_rows<false>(x, count, size, positions);                       \
  }
FARCALL_POSITIONS_IN_ROWS(rows_of_floats, float)
FARCALL_POSITIONS_IN_ROWS(rows_of_doubles, double)
FARCALL_POSITIONS_IN_ROWS(rows_of_integers, int32_t)
#undef FARCALL_POSITIONS_IN_ROWS

int64_t extremes_of_floats(const float* x, int64_t count, int64_t size, bool is_max,
                           float* results) {
  return is_max ? extremes_of_runs<true>(x, count, size, results)
                : extremes_of_runs<false>(x, count, size, results);
}
int64_t extremes_of_doubles(const double* x, int64_t count, int64_t size, bool is_max,
                            double* results) {
  return is_max ? extremes_of_runs<true>(x, count, size, results)
                : extremes_of_runs<false>(x, count, size, results);
}
void extremes_of_halves(const uint16_t* x, int64_t count, int64_t size, bool is_max,
                        uint16_t infinity, uint16_t* results) {
  is_max ? extremes_of_rows_of_halves<true>(x, count, size, infinity, results)
         : extremes_of_rows_of_halves<false>(x, count, size, infinity, results);
}
int64_t position_in_floats(const float* x, int64_t size, bool is_max) {
  return is_max ? position_of_extreme<true>(x, size) : position_of_extreme<false>(x, size);
}
int64_t position_in_doubles(const double* x, int64_t size, bool is_max) {
  return is_max ? position_of_extreme<true>(x, size) : position_of_extreme<false>(x, size);
}

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace farcall::native {
namespace {
HWY_EXPORT(extremes_of_floats);
HWY_EXPORT(extremes_of_doubles);
HWY_EXPORT(extremes_of_halves);
HWY_EXPORT(position_in_floats);
HWY_EXPORT(position_in_doubles);
HWY_EXPORT(rows_of_floats);
HWY_EXPORT(rows_of_doubles);
HWY_EXPORT(rows_of_integers);
}  // namespace

int64_t find_extremes(const float* x, int64_t count, int64_t size, bool is_max, float* results) {
  return HWY_DYNAMIC_DISPATCH(extremes_of_floats)(x, count, size, is_max, results);
}
int64_t find_extremes(const double* x, int64_t count, int64_t size, bool is_max, double* results) {
  return HWY_DYNAMIC_DISPATCH(extremes_of_doubles)(x, count, size, is_max, results);
}
void find_extremes_of_halves(const uint16_t* x, int64_t count, int64_t size, bool is_max,
                             uint16_t infinity, uint16_t* results) {
  HWY_DYNAMIC_DISPATCH(extremes_of_halves)(x, count, size, is_max, infinity, results);
}
int64_t find_extreme_position(const float* x, int64_t size, bool is_max) {
  return HWY_DYNAMIC_DISPATCH(position_in_floats)(x, size, is_max);
}
int64_t find_extreme_position(const double* x, int64_t size, bool is_max) {
  return HWY_DYNAMIC_DISPATCH(position_in_doubles)(x, size, is_max);
}

void find_positions_in_rows(const float* x, int64_t count, int64_t size, bool is_max,
                            int64_t* positions) {
  HWY_DYNAMIC_DISPATCH(rows_of_floats)(x, count, size, is_max, positions);
}
void find_positions_in_rows(const double* x, int64_t count, int64_t size, bool is_max,
                            int64_t* positions) {
  HWY_DYNAMIC_DISPATCH(rows_of_doubles)(x, count, size, is_max, positions);
}
void find_positions_in_rows(const int32_t* x, int64_t count, int64_t size, bool is_max,
                            int64_t* positions) {
  HWY_DYNAMIC_DISPATCH(rows_of_integers)(x, count, size, is_max, positions);
}

}  // namespace farcall::native
#endif
