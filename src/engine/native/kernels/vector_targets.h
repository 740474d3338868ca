// The instruction sets that kernels are compiled for; to be included before Highway.
#pragma once

// Few enough to compile. Vectors of a size that is not known then cannot be kept in arrays.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

namespace farcall::native {

// Kernels use the best instruction set of the processor, or the one that the environment variable
// FARCALL_ISA names. An Error for another name. To be called before any kernel is made.
void choose_instruction_set();

}  // namespace farcall::native
