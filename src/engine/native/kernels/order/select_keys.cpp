#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/kernels/order/select_keys.cpp"

#include "engine/native/kernels/order/select_keys.h"

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

inline constexpr int64_t kTested = 64;

// Bit j is set if keys[j] is at most the limit.
template <class Key>
HWY_INLINE uint64_t bits_of_keys(const Key* keys, Key limit) {
  const hn::ScalableTag<Key> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto most = hn::Set(d, limit);
  uint64_t bits = 0;
  for (int64_t j = 0; j < kTested; j += lanes) {
    const auto key = hn::LoadU(d, keys + j);
    uint8_t bytes[8];
    hn::StoreMaskBits(d, hn::Eq(hn::Min(key, most), key), bytes);
    uint64_t some = 0;
    std::memcpy(&some, bytes, (hn::MaxLanes(d) + 7) / 8);
    bits |= some << j;
  }
  return bits;
}

// Few keys are selected: so many are tested at a time that the processor rarely guesses wrong.
template <class Key>
HWY_INLINE int64_t select(const Key* keys, int64_t size, Key limit, Key* selected, Key* indices) {
  int64_t count = 0, i = 0;
  const auto add = [&](int64_t index) {
    selected[count] = keys[index];
    indices[count++] = static_cast<Key>(index);
  };
  for (; i + kTested <= size; i += kTested) {
    for (uint64_t bits = bits_of_keys(keys + i, limit); bits != 0; bits &= bits - 1) {
      add(i + std::countr_zero(bits));
    }
  }
  for (; i < size; ++i) {
    if (keys[i] <= limit) add(i);
  }
  return count;
}

// For each lane, the number of keys that are less.
template <class D, class V, class Key>
HWY_INLINE V ranks_of(D d, V lanes, const Key* keys, int64_t size) {
  const V one = hn::Set(d, Key(1));
  V rank = hn::Zero(d);
  for (int64_t i = 0; i < size; ++i) {
    rank = hn::Add(rank, hn::IfThenElseZero(hn::Lt(hn::Set(d, keys[i]), lanes), one));
  }
  return rank;
}

template <class Key>
HWY_INLINE Key least_of_rank(const Key* keys, int64_t size, int64_t k) {
  const hn::ScalableTag<Key> d;
  const auto end = hn::Set(d, static_cast<Key>(k));
  auto found = hn::Zero(d);
  for (int64_t i = 0; i < size; i += static_cast<int64_t>(hn::Lanes(d))) {
    const auto key = hn::LoadU(d, keys + i);
    const auto rank = ranks_of(d, key, keys, size);
    found = hn::Max(found, hn::IfThenElseZero(hn::Lt(rank, end), key));
  }
  HWY_ALIGN Key lanes[HWY_MAX_BYTES / sizeof(Key)];
  hn::Store(found, d, lanes);
  return *std::max_element(lanes, lanes + hn::Lanes(d));
}

int64_t select_32(const uint32_t* keys, int64_t size, uint32_t limit, uint32_t* selected,
                  uint32_t* indices) {
  return select(keys, size, limit, selected, indices);
}
int64_t select_64(const uint64_t* keys, int64_t size, uint64_t limit, uint64_t* selected,
                  uint64_t* indices) {
  return select(keys, size, limit, selected, indices);
}
uint32_t kth_least_32(const uint32_t* keys, int64_t size, int64_t k) {
  return least_of_rank(keys, size, k);
}
uint64_t kth_least_64(const uint64_t* keys, int64_t size, int64_t k) {
  return least_of_rank(keys, size, k);
}

void sort_first_64(uint64_t* words, int64_t size, int64_t k, uint64_t* sorted) {
  const hn::ScalableTag<uint64_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  std::fill_n(words + size, lanes, std::numeric_limits<uint64_t>::max());
  HWY_ALIGN uint64_t ranks[HWY_MAX_BYTES / sizeof(uint64_t)];
  for (int64_t i = 0; i < size; i += lanes) {
    hn::Store(ranks_of(d, hn::LoadU(d, words + i), words, size), d, ranks);
    for (int64_t lane = 0; lane < std::min(lanes, size - i); ++lane) {
      if (ranks[lane] < static_cast<uint64_t>(k)) sorted[ranks[lane]] = words[i + lane];
    }
  }
}

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace farcall::native {
namespace {
HWY_EXPORT(select_32);
HWY_EXPORT(select_64);
HWY_EXPORT(kth_least_32);
HWY_EXPORT(kth_least_64);
HWY_EXPORT(sort_first_64);
}  // namespace

int64_t select_keys(const uint32_t* keys, int64_t size, uint32_t limit, uint32_t* selected,
                    uint32_t* indices) {
  return HWY_DYNAMIC_DISPATCH(select_32)(keys, size, limit, selected, indices);
}
int64_t select_keys(const uint64_t* keys, int64_t size, uint64_t limit, uint64_t* selected,
                    uint64_t* indices) {
  return HWY_DYNAMIC_DISPATCH(select_64)(keys, size, limit, selected, indices);
}
uint32_t kth_least(const uint32_t* keys, int64_t size, int64_t k) {
  return HWY_DYNAMIC_DISPATCH(kth_least_32)(keys, size, k);
}
uint64_t kth_least(const uint64_t* keys, int64_t size, int64_t k) {
  return HWY_DYNAMIC_DISPATCH(kth_least_64)(keys, size, k);
}
void sort_first(uint64_t* words, int64_t size, int64_t k, uint64_t* sorted) {
  HWY_DYNAMIC_DISPATCH(sort_first_64)(words, size, k, sorted);
}

}  // namespace farcall::native
#endif
