#include <algorithm>
#include <cstdlib>
#include <string_view>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

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
  ByteInstructions bytes = ByteInstructions::kNone;
};
constexpr InstructionSet kInstructionSets[] = {{"baseline", HWY_STATIC_TARGET},
                                               {"sse4", HWY_SSE4},
                                               {"avx2", HWY_AVX2},
                                               {"avx512", HWY_AVX3},
                                               {"vnni", HWY_AVX3, ByteInstructions::kVnni},
                                               {"amx", HWY_AVX3, ByteInstructions::kAmx}};

ByteInstructions most_byte_instructions = ByteInstructions::kAmx;

[[noreturn]] void fail(std::string_view what) {
  invalid_argument(fmt::format("environment variable FARCALL_ISA: {}", what));
}

#if defined(__x86_64__) && defined(__linux__)

// The state of AMX is large: a process asks for it before the first use.
bool may_use_amx() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  constexpr unsigned kAmxTile = 1U << 24, kAmxInt8 = 1U << 25;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return false;
  return (edx & kAmxTile) && (edx & kAmxInt8) &&
         syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

ByteInstructions best_byte_instructions() {
  if (loop_target() != LoopTarget::kAvx512 || !__builtin_cpu_supports("avx512vnni")) {
    return ByteInstructions::kNone;
  }
  const bool is_allowed = most_byte_instructions == ByteInstructions::kAmx;
  if (is_allowed && may_use_amx()) return ByteInstructions::kAmx;
  return std::min(most_byte_instructions, ByteInstructions::kVnni);
}

#else

ByteInstructions best_byte_instructions() { return ByteInstructions::kNone; }

#endif

}  // namespace

void choose_instruction_set() {
  const char* value = std::getenv("FARCALL_ISA");
  if (!value || !*value) return;
  for (const auto& [name, target, bytes] : kInstructionSets) {
    if (name != value) continue;
    const int64_t supported = hwy::SupportedTargets() | HWY_STATIC_TARGET;
    if ((supported & HWY_TARGETS & target) == 0) {
      fail(fmt::format("{} is not supported by this processor or this build.", name));
    }
    // Better instruction sets have lower bits.
    hwy::SetSupportedTargetsForTest(supported & ~(target - 1));
    most_byte_instructions = bytes;
    if (best_byte_instructions() != bytes) {
      fail(fmt::format("{} is not supported by this processor or this system.", name));
    }
    return;
  }
  fail(
      fmt::format("expected \"baseline\", \"sse4\", \"avx2\", \"avx512\", \"vnni\" or \"amx\", got "
                  "\"{}\".",
                  value));
}

ByteInstructions byte_instructions() {
  static const ByteInstructions found = [] {
    choose_instruction_set();  // a pass may ask before any kernel is made
    return best_byte_instructions();
  }();
  return found;
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
