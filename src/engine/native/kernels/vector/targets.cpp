#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include <farcall/core/error.h>

#include "engine/native/kernels/instruction_sets.h"
#include "engine/native/kernels/vector/targets.h"
// Must come after foreach_target.h.
#include <hwy/targets.h>

namespace farcall::native {
namespace {

struct InstructionSet {
  std::string_view name;
  int64_t target;
};
constexpr InstructionSet kInstructionSets[] = {
    {"baseline", HWY_STATIC_TARGET}, {"sse4", HWY_SSE4}, {"avx2", HWY_AVX2}, {"avx512", HWY_AVX3}};

[[noreturn]] void fail(std::string_view what) {
  invalid_argument(fmt::format("environment variable FARCALL_ISA: {}", what));
}

}  // namespace

void choose_instruction_set() {
  const char* value = std::getenv("FARCALL_ISA");
  if (!value || !*value) return;
  for (const auto& [name, target] : kInstructionSets) {
    if (name != value) continue;
    const int64_t supported = hwy::SupportedTargets() | HWY_STATIC_TARGET;
    if ((supported & HWY_TARGETS & target) == 0) {
      fail(fmt::format("{} is not supported by this processor or this build.", name));
    }
    // Better instruction sets have lower bits.
    hwy::SetSupportedTargetsForTest(supported & ~(target - 1));
    return;
  }
  fail(fmt::format("expected \"baseline\", \"sse4\", \"avx2\" or \"avx512\", got \"{}\".", value));
}

LoopTarget loop_target() {
  // Cached: Highway queries the processor each time, which is slow on a virtual machine.
  static const LoopTarget target = [] {
    const int64_t supported = hwy::SupportedTargets();
    if (supported & HWY_AVX3) return LoopTarget::kAvx512;
    return supported & HWY_AVX2 ? LoopTarget::kAvx2 : LoopTarget::kBaseline;
  }();
  return target;
}

}  // namespace farcall::native
