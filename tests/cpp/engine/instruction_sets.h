// Runs tests with every instruction set of this processor for which kernels are compiled.
#pragma once

#include <cstdint>

#include <gtest/gtest.h>

#include <hwy/targets.h>

namespace farcall::native::testing {

// Calls visit(target) with each instruction set enabled. Kernels chosen before keep theirs.
template <class Visit>
void for_each_instruction_set(Visit&& visit) {
  struct Restored {
    ~Restored() { hwy::SetSupportedTargetsForTest(0); }
  } restored;
  hwy::SetSupportedTargetsForTest(0);
  for (int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    const int64_t target = left & -left;
    if ((target & (HWY_AVX3 | HWY_AVX2 | HWY_SSE4 | HWY_NEON | HWY_STATIC_TARGET)) == 0) continue;
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    visit(target);
  }
}

}  // namespace farcall::native::testing
