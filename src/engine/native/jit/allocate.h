// Assigns virtual registers to registers of the processor or to the stack.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/native/jit/ir.h"

namespace farcall::native::jit {

struct Location {
  enum class Kind : uint8_t { kNone, kRegister, kStack };
  Kind kind = Kind::kNone;  // kNone: the register is unused
  int32_t index = 0;        // index in its bank; offset on the stack
};

struct Allocation {
  std::vector<Location> locations;  // by virtual register
  int32_t stack_bytes = 0;
  int32_t num_vectors = 0;  // vector registers that hold values
};

inline constexpr int kStackAlignment = 64;
// The most memory for arrays in the frame.
inline constexpr int64_t kMostWorkspaceBytes = 1 << 16;

// Linear scan over the instructions (M. Poletto and V. Sarkar, "Linear scan register allocation",
// 1999): a register has one place from its first to its last use, and to the end of every loop that
// it is live into. If there are too few registers, the least used ones are spilled to the stack. A
// result may take the register of an argument that is read there for the last time. If `num_mask`
// is 0, masks get vector registers.
Allocation allocate(const Code& code, int num_general, int num_vector, int num_mask);

}  // namespace farcall::native::jit
