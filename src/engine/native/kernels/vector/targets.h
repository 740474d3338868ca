// The instruction sets that kernels are compiled for. Include this before Highway.
#pragma once

#include <cstdint>

// Disabled to limit compile time, and because vectors whose size is unknown at compile time cannot
// be array elements.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

namespace farcall::native {

// Selects the best instruction set of the processor, or the one that the environment variable
// FARCALL_ISA names. Raises Error for an unknown name. Call it before any kernel is made.
void choose_instruction_set();

// What multiplies bytes, on top of AVX-512.
enum class ByteInstructions : uint8_t { kNone, kVnni, kAmx };
// The best that the processor has, the operating system permits and FARCALL_ISA allows.
ByteInstructions byte_instructions();

}  // namespace farcall::native
