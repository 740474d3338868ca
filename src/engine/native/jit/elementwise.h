// Translates elementwise equations to instructions.
#pragma once

#include <span>
#include <string>

#include <farcall/program/program.h>

#include "engine/native/jit/builder.h"

namespace farcall::native::jit {

// The reason why a loop has no machine code. Thrown during translation, and caught where the loop
// is compiled.
struct Refusal {
  std::string why;
};

// Raises Refusal for dtypes that registers cannot hold. They can hold bool, and integers and floats
// of 32 and 64 bits.
void check_dtype(DType dtype);

// The type of a register with `lanes` elements of a dtype. Several bools are a mask with lanes of
// `mask_width` bytes.
RegType reg_type(DType dtype, int lanes, int mask_width);

// The bits of one element in memory, in the format of constants.
uint64_t element_bits(DType dtype, const std::byte* element);

// Translates an elementwise equation on one part of each operand. All registers have `lanes` lanes.
// Raises Refusal if the instructions do not exist.
Arg elementwise(Builder& builder, const Program& program, const Equation& equation,
                std::span<const Arg> args, int lanes, int mask_width);

// The maximum or minimum, as in the kernels "max" and "min".
Arg extreme(Builder& builder, DType dtype, RegType type, bool is_max, Arg x, Arg y);

}  // namespace farcall::native::jit
