// Translates elementwise equations to instructions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <farcall/program/program.h>

#include "engine/native/jit/builder.h"
#include "engine/native/kernels/elementwise/elementwise.h"

namespace farcall::native::jit {

// The reason why a loop has no machine code. Thrown during translation, and caught where the loop
// is compiled.
struct Refusal {
  std::string why;
};

// Whether registers can hold elements: bool, and integers and floats of 32 and 64 bits.
// check_dtype() raises Refusal otherwise.
bool is_held(DType dtype);
void check_dtype(DType dtype);

// The type of a register with `lanes` elements of a dtype. Several bools are a mask with lanes of
// `mask_width` bytes.
RegType reg_type(DType dtype, int lanes, int mask_width);

// The bits of one element in memory, in the format of constants.
uint64_t element_bits(DType dtype, const std::byte* element);

// An elementwise operation in dtypes that registers hold.
struct Operation {
  std::string_view name;
  const Params* params = nullptr;
  DType dtype = DType::kInvalid;  // of the first operand
  DType result = DType::kInvalid;
  // The kernel's loop, for functions and elements without instructions; null if its dtypes are not
  // `dtype`. `is_for_rare`: only for elements.
  Loop loop = nullptr;
  int64_t extra = 0;
  bool is_for_rare = false;
};
Operation operation_of(const Program& program, const Equation& equation);

// Translates an operation on one part of each operand. All registers have `lanes` lanes. Raises
// Refusal if the instructions do not exist.
Arg elementwise(Builder& builder, const Operation& operation, std::span<const Arg> args, int lanes,
                int mask_width);

// One part of an operand, converted to another dtype.
Arg converted(Builder& builder, Arg value, DType from, DType to, int lanes, int mask_width);

// The maximum or minimum, as in the kernels "max" and "min".
Arg extreme(Builder& builder, DType dtype, RegType type, bool is_max, Arg x, Arg y);

}  // namespace farcall::native::jit
