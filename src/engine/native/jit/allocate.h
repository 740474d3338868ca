// Which virtual registers lie in registers of the processor, and which on the stack.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/native/jit/ir.h"

namespace farcall::native::jit {

struct Location {
  enum class Kind : uint8_t { kNone, kRegister, kStack };
  Kind kind = Kind::kNone;  // kNone: nothing reads or writes it
  int32_t index = 0;        // of the register among those of its bank; offset on the stack
};

struct Allocation {
  std::vector<Location> locations;  // by virtual register
  int32_t stack_bytes = 0;
};

inline constexpr int kStackAlignment = 32;

// Linear scan over the instructions (M. Poletto and V. Sarkar, "Linear scan register allocation",
// 1999): a register has one place from its first use to its last, and to the end of every loop that
// it was there before. Where there are too few, those that are used least lie on the stack. A
// result may lie where an argument that is read last there was.
Allocation allocate(const Code& code, int num_general, int num_vector);

}  // namespace farcall::native::jit
