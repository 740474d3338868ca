#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/kernels/vector/narrow.cpp"

#include <cstring>
#include <limits>

#include "engine/native/kernels/vector/narrow.h"
#include "engine/native/kernels/vector/targets.h"

#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Words = hn::RebindToUnsigned<Floats>;
using Vector = hn::Vec<Floats>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(Floats()));

// Replaces NaNs by the quiet NaN of the same sign.
HWY_INLINE Vector plain_nan(Vector x) {
  const Vector nan = hn::Set(Floats(), std::numeric_limits<float>::quiet_NaN());
  return hn::IfThenElse(hn::IsNaN(x), hn::CopySign(nan, x), x);
}

struct BFloat16 {
  using Halves = hn::Rebind<uint16_t, Floats>;

  HWY_INLINE static Vector load(const uint16_t* from) {
    const auto words = hn::PromoteTo(Words(), hn::LoadU(Halves(), from));
    return plain_nan(hn::BitCast(Floats(), hn::ShiftLeft<16>(words)));
  }
  // Adds so that the upper half is x rounded to nearest, ties to even.
  HWY_INLINE static hn::Vec<Words> rounded(Vector x) {
    const auto bits = hn::BitCast(Words(), plain_nan(x));
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(Words(), 1u));
    return hn::Add(hn::Add(bits, hn::Set(Words(), 0x7fffu)), odd);
  }
  HWY_INLINE static void store(Vector x, uint16_t* to) {
    const hn::RebindToSigned<Floats> numbers;
    const auto upper = hn::BitCast(numbers, hn::ShiftRight<16>(rounded(x)));
    hn::StoreU(hn::DemoteTo(Halves(), upper), Halves(), to);
  }
  HWY_INLINE static Vector round(Vector x) {
    return hn::BitCast(Floats(), hn::And(rounded(x), hn::Set(Words(), 0xffff0000u)));
  }
};

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
struct Float16 {
  using Halves = hn::Rebind<hwy::float16_t, Floats>;

  HWY_INLINE static Vector load(const uint16_t* from) {
    const auto* halves = reinterpret_cast<const hwy::float16_t*>(from);
    return plain_nan(hn::PromoteTo(Floats(), hn::LoadU(Halves(), halves)));
  }
  HWY_INLINE static void store(Vector x, uint16_t* to) {
    const auto halves = hn::DemoteTo(Halves(), plain_nan(x));
    hn::StoreU(halves, Halves(), reinterpret_cast<hwy::float16_t*>(to));
  }
  HWY_INLINE static Vector round(Vector x) {
    return hn::PromoteTo(Floats(), hn::DemoteTo(Halves(), plain_nan(x)));
  }
};
#endif

// Calls whole(from, to) for each vector; copies the remaining elements through arrays of one
// vector.
template <class From, class To, class Whole>
HWY_INLINE void map(const void* source, void* target, int64_t size, Whole whole) {
  const auto* from = static_cast<const From*>(source);
  auto* to = static_cast<To*>(target);
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) whole(from + i, to + i);
  if (i == size) return;
  HWY_ALIGN From last[kLanes] = {};
  HWY_ALIGN To result[kLanes];
  const auto count = static_cast<size_t>(size - i);
  std::memcpy(last, from + i, count * sizeof(From));
  whole(last, result);
  std::memcpy(to + i, result, count * sizeof(To));
}

template <class Type>
void widen(const void* source, void* target, int64_t size, const ConvertStep&) {
  map<uint16_t, float>(source, target, size, [](const uint16_t* from, float* to) {
    hn::StoreU(Type::load(from), Floats(), to);
  });
}
template <class Type>
void narrow(const void* source, void* target, int64_t size, const ConvertStep&) {
  map<float, uint16_t>(source, target, size, [](const float* from, uint16_t* to) {
    Type::store(hn::LoadU(Floats(), from), to);
  });
}
template <class Type>
void round(const void* source, void* target, int64_t size, const ConvertStep&) {
  map<float, float>(source, target, size, [](const float* from, float* to) {
    hn::StoreU(Type::round(hn::LoadU(Floats(), from)), Floats(), to);
  });
}

template <class Type>
ConvertLoop loop_of(NarrowStep step) {
  switch (step) {
    case NarrowStep::kWiden:
      return widen<Type>;
    case NarrowStep::kNarrow:
      return narrow<Type>;
    default:
      return round<Type>;
  }
}

ConvertLoop narrow_loop(DType dtype, NarrowStep step) {
  if (dtype == DType::kBFloat16) return loop_of<BFloat16>(step);
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  if (dtype == DType::kFloat16) return loop_of<Float16>(step);
#endif
  return nullptr;
}

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace farcall::native {
namespace {
HWY_EXPORT(narrow_loop);
}  // namespace

ConvertLoop vector_narrow_loop(DType dtype, NarrowStep step) {
  return HWY_DYNAMIC_DISPATCH(narrow_loop)(dtype, step);
}

}  // namespace farcall::native
#endif
