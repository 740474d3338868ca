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
  int64_t rows = 1;       // see Op::kRows
};

// The entry point of the code. Returns 0, or 1 after an interrupt request, which stays pending
// (core/interrupt.h).
using Entry = int64_t (*)(Frame*);

// What code may use: what this processor has and FARCALL_ISA allows.
struct Processor {
  int vector_bytes = 0;  // of the widest vector; 0 if there is no code for this processor
  bool has_fast_subnormals = false;  // kFloatScale takes no longer for subnormal results
  bool has_fast_division = false;    // kFloatDiv of a vector takes no longer than five operations
  bool has_masks = false;   // AVX-512: kFloatScale, rounding to halves, all formats of tiles
  bool has_halves = false;  // AVX512-FP16: kFloatAdd, kFloatSub and kFloatMul of lanes of two bytes
};
const Processor& processor();

// Whether the code needs no memory for vectors and masks on the stack.
bool fits_in_registers(const Code& code);

// Returns position-independent code; empty if the code is too long.
std::vector<std::byte> encode(const Code& code);

}  // namespace farcall::native::jit
