// Vectors as blocks of 16 bytes: transposes of the small matrices in them. Included once for each
// instruction set, outside of Highway's namespaces.
#if defined(FARCALL_VECTOR_BLOCKS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FARCALL_VECTOR_BLOCKS_INL_H
#undef FARCALL_VECTOR_BLOCKS_INL_H
#else
#define FARCALL_VECTOR_BLOCKS_INL_H
#endif

#include <cstdint>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR  // has one lane
namespace hn = hwy::HWY_NAMESPACE;

// Writes blocks of 16 bytes, each `apart` numbers after the one before.
template <class D>
HWY_INLINE void store_blocks(D d, hn::Vec<D> blocks, hn::TFromD<D>* to, int64_t apart) {
  constexpr int64_t kBlocks = hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) / 16;
  if constexpr (kBlocks == 1) {
    hn::StoreU(blocks, d, to);
  } else {
    const hn::Half<D> half;
    store_blocks(half, hn::LowerHalf(half, blocks), to, apart);
    store_blocks(half, hn::UpperHalf(half, blocks), to + kBlocks / 2 * apart, apart);
  }
}

// The opposite.
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const hn::TFromD<D>* from, int64_t apart) {
  constexpr int64_t kBlocks = hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) / 16;
  if constexpr (kBlocks == 1) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_blocks(half, from + kBlocks / 2 * apart, apart),
                       load_blocks(half, from, apart));
  }
}

// Transposes the matrices in the blocks of 16 bytes of as many vectors as a block has numbers.
template <class D>
HWY_INLINE void transpose_blocks(D d, hn::Vec<D>* rows) {
  const auto a = hn::InterleaveLower(d, rows[0], rows[1]);
  const auto b = hn::InterleaveUpper(d, rows[0], rows[1]);
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    rows[0] = a;
    rows[1] = b;
  } else {
    const hn::RepartitionToWide<D> wide;
    const auto c = hn::InterleaveLower(d, rows[2], rows[3]);
    const auto e = hn::InterleaveUpper(d, rows[2], rows[3]);
    const auto lower = [&](auto x, auto y) HWY_ATTR {
      return hn::BitCast(d, hn::InterleaveLower(wide, hn::BitCast(wide, x), hn::BitCast(wide, y)));
    };
    const auto upper = [&](auto x, auto y) HWY_ATTR {
      return hn::BitCast(d, hn::InterleaveUpper(wide, hn::BitCast(wide, x), hn::BitCast(wide, y)));
    };
    rows[0] = lower(a, c);
    rows[1] = upper(a, c);
    rows[2] = lower(b, e);
    rows[3] = upper(b, e);
  }
}
#endif

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
