// Machine code for this processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/native/jit/ir.h"

namespace farcall::native::jit {

// What a run of the code is given, and gives back.
struct Frame {
  void* const* pointers;  // see Op::kPointer
  int64_t count;          // see Op::kCount
};

// The code's one entry. It returns 0, or 1 where an interrupt was asked for, which is kept
// (core/interrupt.h).
using Entry = int64_t (*)(Frame*);

// Whether this processor, as far as FARCALL_ISA allows, runs what encode() makes.
bool can_encode();

// The bytes, which may be put anywhere. None where the code is too long.
std::vector<std::byte> encode(const Code& code);

}  // namespace farcall::native::jit
