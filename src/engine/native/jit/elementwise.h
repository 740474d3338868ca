// Elementwise equations as instructions.
#pragma once

#include <span>
#include <string>

#include <farcall/program/program.h>

#include "engine/native/jit/builder.h"

namespace farcall::native::jit {

// Why a loop has no machine code: thrown by what makes it, and caught where the loop is compiled.
struct Refusal {
  std::string why;
};

// The dtypes that registers hold: bool, and integers and floats of 32 and 64 bits. Raises Refusal
// for others.
void check_dtype(DType dtype);

// How the elements of a dtype lie in a register, so many in each. Bools of more than one are masks
// of lanes of `mask_width` bytes.
RegType reg_type(DType dtype, int lanes, int mask_width);

// The bits of one element in memory, as constants have them.
uint64_t element_bits(DType dtype, const std::byte* element);

// The result of an elementwise equation on registers of one part of each operand, all of `lanes`
// lanes. Raises Refusal where there are no instructions for it.
Arg elementwise(Builder& builder, const Program& program, const Equation& equation,
                std::span<const Arg> args, int lanes, int mask_width);

// The greater, or the less, as the kernel "max" or "min" does it.
Arg extreme(Builder& builder, DType dtype, RegType type, bool is_max, Arg x, Arg y);

}  // namespace farcall::native::jit
