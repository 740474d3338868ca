// Division of many elements by one number, by multiplications: several times as fast as by the
// processor's instruction, and with the same bits.
#pragma once

#include "engine/native/jit/builder.h"

namespace farcall::native::jit {

// A divisor in all lanes, and what depends on it alone.
struct Divisor {
  Arg value, reciprocal;
  Arg is_rare;  // a bool: elements must be divided by the instruction
};

// `type`: float32 lanes of AVX-512, as in all functions here. `value` is a register.
Divisor divisor(Builder& builder, RegType type, Arg value);

// x divided by the divisor, rounded to nearest.
Arg quotient(Builder& builder, RegType type, Arg x, const Divisor& by);

// For numbers of bfloat16, as x and as the divisor: what rounds to bfloat16 as the quotient does.
Arg short_quotient(Builder& builder, RegType type, Arg x, const Divisor& by);

}  // namespace farcall::native::jit
