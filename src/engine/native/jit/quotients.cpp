#include "engine/native/jit/quotients.h"

#include <bit>

namespace farcall::native::jit {
namespace {

constexpr uint32_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }

// With divisors and elements in these ranges, nothing below overflows or is subnormal.
constexpr float kLeastDivisor = 0x1p-24F, kMostDivisor = 0x1p24F;
constexpr float kLeastElement = 0x1p-100F, kMostElement = 0x1p100F;

Arg constant(uint32_t bits) { return Arg::constant(bits); }

// Whether the unsigned lanes are out of this range.
Arg is_outside(Builder& b, RegType type, Arg lanes, uint32_t least, uint32_t most) {
  const Arg above_least = b.add(Op::kLaneSub, type, {lanes, constant(least)});
  return b.lane_compare(Op::kLaneAbove, type, above_least, constant(most - least));
}

Arg any_lane(Builder& b, RegType type, Arg lanes) {
  return b.add({.op = Op::kAnyLane, .type = general(4), .source = mask_of(type), .args = {lanes}});
}

// What was found, or, if any lane is rare, the results of the processor's division.
Arg unless_rare(Builder& b, RegType type, Arg is_rare, Arg found, Arg x, const Divisor& by) {
  const Reg result = b.new_reg(type);
  const uint32_t done = b.new_label();
  b.move(result, type, found);
  b.branch(Cond::kEq, general(4), is_rare, constant(0), done);
  b.move(result, type, b.add(Op::kFloatDiv, type, {x, by.value}));
  b.label(done);
  return Arg::reg(result);
}

}  // namespace

Divisor divisor(Builder& b, RegType type, Arg value) {
  const Arg is_rare = is_outside(b, type, value, bits_of(kLeastDivisor), bits_of(kMostDivisor));
  return {.value = value,
          .reciprocal = b.add(Op::kFloatDiv, type, {constant(bits_of(1)), value}),
          .is_rare = any_lane(b, type, is_rare)};
}

// P. Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", 1990:
// if r is the rounded reciprocal of d and q differs from x / d by less than a unit of its last
// place, q + r (x - q d), with the remainder exact, is the rounded x / d. The first step makes q so
// close. Remainders are negated, so that the quotient of a zero keeps its sign.
Arg quotient(Builder& b, RegType type, Arg x, const Divisor& by) {
  const Arg size = b.add(Op::kLaneAdd, type, {x, x});  // the sign is shifted out
  const Arg is_far =
      is_outside(b, type, size, 2 * bits_of(kLeastElement), 2 * bits_of(kMostElement));
  const Arg is_nonzero = b.lane_compare(Op::kLaneAbove, type, size, constant(0));
  const Arg is_rare = any_lane(b, type, b.add(Op::kMaskAnd, mask_of(type), {is_far, is_nonzero}));
  const Arg negative = b.add(Op::kBitXor, type, {x, constant(bits_of(-0.F))});
  Arg found = b.add(Op::kFloatMul, type, {x, by.reciprocal});
  for (int step = 0; step < 2; ++step) {
    const Arg remainder = b.add(Op::kFloatMulAdd, type, {found, by.value, negative});
    found = b.add(Op::kFloatNegMulAdd, type, {remainder, by.reciprocal, found});
  }
  return unless_rare(b, type, b.add(Op::kOr, general(4), {is_rare, by.is_rare}), found, x, by);
}

// The quotient of numbers of 8 bits is a number of 9 bits, where rounding to 8 bits changes, or
// differs from it by more than 2^-18 of itself. The product is at least as close to the quotient as
// 2^-23 of itself.
Arg short_quotient(Builder& b, RegType type, Arg x, const Divisor& by) {
  const Arg found = b.add(Op::kFloatMul, type, {x, by.reciprocal});
  return unless_rare(b, type, by.is_rare, found, x, by);
}

}  // namespace farcall::native::jit
