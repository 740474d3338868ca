// Symbolic vectors: each operation of Highway that vector/exp-inl.h and trig-inl.h use adds
// an instruction. With FARCALL_VECTORS set to this namespace, the functions in these files are
// translated to instructions, by the same formulas as the kernels' compiled loops.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <type_traits>

#include "engine/native/jit/builder.h"
#include "engine/native/jit/encode.h"

namespace farcall::native::jit::symbols {

// The builder and the number of lanes of the function that this thread is writing.
struct Writer {
  Builder* builder;
  int lanes;
  const std::function<Arg()>* call;  // adds a call of the kernel's loop for this function
};
inline thread_local Writer writer{};

template <class T>
struct Tag {};
template <class T>
struct Lanes {
  Arg arg;
};
template <class T>
struct MaskOf {
  Arg arg;
};

template <class D>
struct Of;
template <class T>
struct Of<Tag<T>> {
  using Float = T;
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
};
template <class D>
using TFromD = typename Of<D>::Float;
template <class D>
using Vec = Lanes<TFromD<D>>;
template <class D>
using Mask = MaskOf<TFromD<D>>;
template <class D>
using RebindToUnsigned = Tag<typename Of<D>::Bits>;

template <class T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T>;

template <class T>
RegType type() {
  return vector(sizeof(T), writer.lanes);
}
template <class T>
Arg write(Op op, std::initializer_list<Arg> args, int64_t imm = 0) {
  return writer.builder->add(op, type<T>(), args, imm);
}
template <class T>
Arg constant(T value) {
  return Arg::constant(std::bit_cast<typename Of<Tag<T>>::Bits>(value));
}
template <class T>
Arg sign_bit() {
  return Arg::constant(uint64_t{1} << (8 * sizeof(T) - 1));
}

template <class T>
Lanes<T> Set(Tag<T>, std::type_identity_t<T> value) {
  return {constant(value)};
}
template <class T>
Lanes<T> Zero(Tag<T> d) {
  return Set(d, 0);
}
template <class T, class From>
Lanes<T> BitCast(Tag<T>, Lanes<From> x) {
  return {x.arg};
}

template <class T>
Lanes<T> Add(Lanes<T> x, Lanes<T> y) {
  return {write<T>(kIsFloat<T> ? Op::kFloatAdd : Op::kLaneAdd, {x.arg, y.arg})};
}
template <class T>
Lanes<T> Sub(Lanes<T> x, Lanes<T> y) {
  return {write<T>(kIsFloat<T> ? Op::kFloatSub : Op::kLaneSub, {x.arg, y.arg})};
}
template <class T>
Lanes<T> Mul(Lanes<T> x, Lanes<T> y) {
  return {write<T>(Op::kFloatMul, {x.arg, y.arg})};
}
template <class T>
Lanes<T> Div(Lanes<T> x, Lanes<T> y) {
  return {write<T>(Op::kFloatDiv, {x.arg, y.arg})};
}
template <class T>
Lanes<T> MulAdd(Lanes<T> x, Lanes<T> y, Lanes<T> z) {
  return {write<T>(Op::kFloatMulAdd, {x.arg, y.arg, z.arg})};
}
template <class T>
Lanes<T> NegMulAdd(Lanes<T> x, Lanes<T> y, Lanes<T> z) {
  return {write<T>(Op::kFloatNegMulAdd, {x.arg, y.arg, z.arg})};
}
template <class T>
Lanes<T> Max(Lanes<T> x, Lanes<T> y) {
  return {write<T>(Op::kFloatMax, {x.arg, y.arg})};
}
template <class T>
Lanes<T> Min(Lanes<T> x, Lanes<T> y) {
  return {write<T>(Op::kFloatMin, {x.arg, y.arg})};
}
template <class T>
Lanes<T> Sqrt(Lanes<T> x) {
  return {write<T>(Op::kFloatSqrt, {x.arg})};
}
// x times 2 to the power of k, if the processor has an instruction for it.
inline bool can_scale() { return processor().has_masks; }
// If it also takes no longer for subnormal results.
inline bool scales_fast() { return processor().has_fast_subnormals; }
template <class T>
Lanes<T> scaled(Lanes<T> x, Lanes<T> k) {
  return {write<T>(Op::kFloatScale, {x.arg, k.arg})};
}
template <class T>
Lanes<T> Floor(Lanes<T> x) {
  return {write<T>(Op::kFloatRound, {x.arg}, 1)};
}
template <class T>
Lanes<T> Neg(Lanes<T> x) {
  // The negation of a constant, such as a coefficient, is a constant.
  if (x.arg.is_const()) return {Arg::constant(x.arg.bits ^ sign_bit<T>().bits)};
  return {write<T>(Op::kBitXor, {x.arg, sign_bit<T>()})};
}
template <class T>
Lanes<T> Abs(Lanes<T> x) {
  return {write<T>(Op::kBitAnd, {x.arg, Arg::constant(sign_bit<T>().bits - 1)})};
}
template <class T>
Lanes<T> CopySign(Lanes<T> magnitude, Lanes<T> sign) {
  if (processor().has_masks) {
    return {write<T>(Op::kBitSelect, {magnitude.arg, sign.arg, sign_bit<T>()})};
  }
  return {
      write<T>(Op::kBitOr, {Abs(magnitude).arg, write<T>(Op::kBitAnd, {sign.arg, sign_bit<T>()})})};
}
template <class T>
Lanes<T> SignBit(Tag<T>) {
  return {sign_bit<T>()};
}
template <class T>
Lanes<T> And(Lanes<T> x, Lanes<T> y) {
  return {write<T>(Op::kBitAnd, {x.arg, y.arg})};
}
template <class T>
Lanes<T> Xor(Lanes<T> x, Lanes<T> y) {
  return {write<T>(Op::kBitXor, {x.arg, y.arg})};
}
template <class T>
Lanes<T> Or(Lanes<T> x, Lanes<T> y) {
  return {write<T>(Op::kBitOr, {x.arg, y.arg})};
}
template <int kBits, class T>
Lanes<T> ShiftLeft(Lanes<T> x) {
  return {write<T>(Op::kLaneShiftLeft, {x.arg}, kBits)};
}
template <int kBits, class T>
Lanes<T> ShiftRight(Lanes<T> x) {
  return {write<T>(Op::kLaneShiftRight, {x.arg}, kBits)};
}

template <class T>
MaskOf<T> compared(Cond cond, Lanes<T> x, Lanes<T> y) {
  return {writer.builder->float_compare(cond, type<T>(), x.arg, y.arg)};
}
template <class T>
MaskOf<T> Lt(Lanes<T> x, Lanes<T> y) {
  return compared(Cond::kLt, x, y);
}
template <class T>
MaskOf<T> Le(Lanes<T> x, Lanes<T> y) {
  return compared(Cond::kLe, x, y);
}
template <class T>
MaskOf<T> Gt(Lanes<T> x, Lanes<T> y) {
  return compared(Cond::kGt, x, y);
}
template <class T>
MaskOf<T> Eq(Lanes<T> x, Lanes<T> y) {
  return compared(Cond::kEq, x, y);
}
template <class T>
MaskOf<T> IsNaN(Lanes<T> x) {
  return compared(Cond::kUnordered, x, x);
}
template <class T>
MaskOf<T> combined(Op op, std::initializer_list<Arg> masks) {
  return {writer.builder->add(op, mask_of(type<T>()), masks)};
}
template <class T>
MaskOf<T> And(MaskOf<T> x, MaskOf<T> y) {
  return combined<T>(Op::kMaskAnd, {x.arg, y.arg});
}
template <class T>
MaskOf<T> Or(MaskOf<T> x, MaskOf<T> y) {
  return combined<T>(Op::kMaskOr, {x.arg, y.arg});
}
template <class T>
MaskOf<T> Not(MaskOf<T> x) {
  return combined<T>(Op::kMaskNot, {x.arg});
}
template <class T>
MaskOf<T> TestBit(Lanes<T> x, Lanes<T> bit) {
  return {writer.builder->lane_compare(Op::kLaneEqual, type<T>(), And(x, bit).arg, bit.arg)};
}
template <class T, class From>
MaskOf<T> RebindMask(Tag<T>, MaskOf<From> x) {
  return {x.arg};
}
template <class T>
Lanes<T> IfThenElse(MaskOf<T> mask, Lanes<T> yes, Lanes<T> no) {
  return {writer.builder->blend(type<T>(), mask.arg, no.arg, yes.arg)};
}
template <class T>
Lanes<T> IfThenElseZero(MaskOf<T> mask, Lanes<T> yes) {
  return {write<T>(Op::kSelectOrZero, {mask.arg, yes.arg})};
}

// x, plus y where the mask is set.
template <class T>
Lanes<T> add_where(MaskOf<T> mask, Lanes<T> x, Lanes<T> y) {
  if (!processor().has_masks) return IfThenElse(mask, Add(x, y), x);
  const Op op = kIsFloat<T> ? Op::kFloatAddWhere : Op::kLaneAddWhere;
  return {write<T>(op, {x.arg, y.arg, mask.arg})};
}

// If `rare` holds in any lane, the kernel's loop computes all lanes, with the same bits.
template <class T, class Scalar>
Lanes<T> with_scalar(Tag<T>, MaskOf<T> rare, Lanes<T>, Lanes<T> result, Scalar) {
  Builder& b = *writer.builder;
  const Reg value = b.new_reg(type<T>());
  const uint32_t done = b.new_label();
  b.move(value, type<T>(), result.arg);
  const Arg is_rare = b.add(
      {.op = Op::kAnyLane, .type = general(4), .source = mask_of(type<T>()), .args = {rare.arg}});
  b.branch(Cond::kEq, general(4), is_rare, Arg::constant(0), done);
  b.move(value, type<T>(), (*writer.call)());
  b.label(done);
  return {Arg::reg(value)};
}

// function.below_limit(), unless a magnitude is beyond the limit.
template <class T, class Function, class Scalar>
Lanes<T> with_large(Tag<T> d, Lanes<T> x, T limit, double, Function function, Scalar scalar) {
  const MaskOf<T> is_large = Not(Le(Abs(x), Set(d, limit)));
  return with_scalar(d, is_large, x, function.below_limit(d, x), scalar);
}

}  // namespace farcall::native::jit::symbols
