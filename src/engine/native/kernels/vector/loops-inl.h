// Loops over functions of vectors. Included in the same way as basics-inl.h.
#if defined(FARCALL_VECTOR_LOOPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FARCALL_VECTOR_LOOPS_INL_H
#undef FARCALL_VECTOR_LOOPS_INL_H
#else
#define FARCALL_VECTOR_LOOPS_INL_H
#endif

#include <cstring>
#include <utility>

#include "engine/native/kernels/vector/basics-inl.h"
#include "engine/native/kernels/vector/demote-inl.h"
#include "engine/native/kernels/vector/math.h"

// Defines a family's function that chooses loops (math.h) among all instruction sets.
#ifndef FARCALL_EXPORT_MATH_LOOP
#define FARCALL_EXPORT_MATH_LOOP(family)                     \
  namespace farcall::native {                                \
  HWY_EXPORT(family);                                        \
  MathLoop family(MathFunction function, bool is_float) {    \
    return HWY_DYNAMIC_DISPATCH(family)(function, is_float); \
  }                                                          \
  }
#endif

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

// Replaces lanes in which `rare` holds by the scalar function's value of the operands.
template <class D, class Scalar, class... Operands>
HWY_INLINE V<D> with_scalar_of(D d, hn::Mask<D> rare, V<D> result, Scalar scalar,
                               Operands... operands) {
  if (HWY_LIKELY(hn::AllFalse(d, rare))) return result;
  constexpr size_t kLanes = hn::MaxLanes(D());
  HWY_ALIGN T<D> from[sizeof...(operands)][kLanes], to[kLanes], is_rare[kLanes];
  size_t count = 0;
  (hn::StoreU(operands, d, from[count++]), ...);
  hn::Store(result, d, to);
  hn::Store(hn::IfThenElseZero(rare, set(d, 1)), d, is_rare);
  for (size_t i = 0; i < kLanes; ++i) {
    if (is_rare[i] == 0) continue;
    [&]<size_t... k>(std::index_sequence<k...>) { to[i] = scalar(from[k][i]...); }
    (std::index_sequence_for<Operands...>());
  }
  return hn::Load(d, to);
}
template <class D, class Scalar>
HWY_INLINE V<D> with_scalar(D d, hn::Mask<D> rare, V<D> x, V<D> result, Scalar scalar) {
  return with_scalar_of(d, rare, result, scalar, x);
}

// function.below_limit() of numbers of magnitudes up to `limit`. Beyond, floats are computed as
// doubles up to the limit of those, and others by the scalar function.
template <class D, class Function, class Scalar>
HWY_INLINE V<D> with_large(D d, V<D> x, T<D> limit, double limit_of_doubles, Function function,
                           Scalar scalar) {
  const V<D> magnitude = hn::Abs(x);
  V<D> result = function.below_limit(d, x);
  auto is_large = hn::Not(hn::Le(magnitude, set(d, limit)));
  if constexpr (sizeof(T<D>) == 4) {
    if (HWY_LIKELY(hn::AllFalse(d, is_large))) return result;
    const hn::ScalableTag<double> wide;
    const hn::Rebind<float, decltype(wide)> narrow;
    HWY_ALIGN float lanes[hn::MaxLanes(D())];
    hn::Store(x, d, lanes);
    for (size_t i = 0; i < hn::MaxLanes(D()); i += hn::MaxLanes(wide)) {
      const auto doubles = hn::PromoteTo(wide, hn::Load(narrow, lanes + i));
      hn::Store(rounded_to_float(wide, function.below_limit(wide, doubles)), narrow, lanes + i);
    }
    result = hn::IfThenElse(is_large, hn::Load(d, lanes), result);
    is_large = hn::Not(hn::Le(magnitude, set(d, static_cast<float>(limit_of_doubles))));
  }
  return with_scalar(d, is_large, x, result, scalar);
}

// Loads the last elements of an array whose size is not a multiple of the vector's; lanes after
// them are 1/2.
template <class D>
HWY_INLINE V<D> load_first(D d, const T<D>* from, int64_t count) {
  HWY_ALIGN T<D> lanes[hn::MaxLanes(d)];
  hn::Store(set(d, 0.5), d, lanes);
  std::memcpy(lanes, from, static_cast<size_t>(count) * sizeof(T<D>));
  return hn::Load(d, lanes);
}
template <class D>
HWY_INLINE void store_first(D d, V<D> v, T<D>* to, int64_t count) {
  HWY_ALIGN T<D> lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  std::memcpy(to, lanes, static_cast<size_t>(count) * sizeof(T<D>));
}

// Loops in the form of the kernels' tables (elementwise.h).
template <class Op, class Type>
void map_one(const void* const* inputs, void* output, int64_t size, int64_t) {
  const hn::ScalableTag<Type> d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<Type>()));
  const auto* x = static_cast<const Type*>(inputs[0]);
  auto* result = static_cast<Type*>(output);
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) hn::StoreU(Op()(d, hn::LoadU(d, x + i)), d, result + i);
  if (i < size) store_first(d, Op()(d, load_first(d, x + i, size - i)), result + i, size - i);
}
template <class Op, class Type>
void map_two(const void* const* inputs, void* output, int64_t size, int64_t) {
  const hn::ScalableTag<Type> d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<Type>()));
  const auto *x = static_cast<const Type*>(inputs[0]), *y = static_cast<const Type*>(inputs[1]);
  auto* result = static_cast<Type*>(output);
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    hn::StoreU(Op()(d, hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, result + i);
  }
  if (i < size) {
    const V<decltype(d)> a = load_first(d, x + i, size - i), b = load_first(d, y + i, size - i);
    store_first(d, Op()(d, a, b), result + i, size - i);
  }
}

// For floats, by a function of doubles.
template <class Op, size_t kInputs>
void map_in_double(const void* const* inputs, void* output, int64_t size, int64_t) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> narrow;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<double>()));
  auto* const result = static_cast<float*>(output);
  for (int64_t i = 0; i < size; i += kLanes) {
    const int64_t left = size - i;
    const auto load = [&](size_t input) HWY_ATTR {
      const float* const from = static_cast<const float*>(inputs[input]) + i;
      return hn::PromoteTo(
          d, left >= kLanes ? hn::LoadU(narrow, from) : load_first(narrow, from, left));
    };
    V<decltype(d)> exact;
    if constexpr (kInputs == 1) {
      exact = Op()(d, load(0));
    } else {
      exact = Op()(d, load(0), load(1));
    }
    const auto value = rounded_to_float(d, exact);
    if (left >= kLanes) {
      hn::StoreU(value, narrow, result + i);
    } else {
      store_first(narrow, value, result + i, left);
    }
  }
}

template <class Op>
MathLoop one(bool is_float) {
  return is_float ? map_one<Op, float> : map_one<Op, double>;
}

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
