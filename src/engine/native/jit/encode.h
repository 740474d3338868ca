// Assembles machine code for this processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/native/jit/ir.h"

namespace farcall::native::jit {

// The input and output of one run of the code.
struct Frame {
  void* const* pointers;  // see Op::kPointer
  int64_t count;          // see Op::kCount
};

// The entry point of the code. Returns 0, or 1 after an interrupt request, which stays pending
// (core/interrupt.h).
using Entry = int64_t (*)(Frame*);

// Whether this processor supports the code that encode() makes, and FARCALL_ISA allows it.
bool can_encode();

// Returns position-independent code; empty if the code is too long.
std::vector<std::byte> encode(const Code& code);

}  // namespace farcall::native::jit
