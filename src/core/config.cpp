#include <farcall/core/config.h>

#include <algorithm>
#include <cctype>
#include <string>

#include <fmt/format.h>

#include <farcall/core/environment.h>
#include <farcall/core/error.h>

namespace farcall {
namespace {

// On this thread, `bits` replace the flags of the process where `mask` is set.
struct Overrides {
  uint64_t mask = 0, bits = 0;
};
constinit thread_local Overrides overrides;

void set_overrides(Overrides wanted) {
  constexpr uint64_t kOneThread = uint64_t{1} << detail::kThreadsShift;
  if (wanted.mask != 0 && overrides.mask == 0) detail::process_flags += kOneThread;
  if (wanted.mask == 0 && overrides.mask != 0) detail::process_flags -= kOneThread;
  overrides = wanted;
}

void set_for_process(uint64_t mask, uint64_t value) {
  uint64_t bits = detail::process_flags.load(std::memory_order_relaxed);
  while (!detail::process_flags.compare_exchange_weak(bits, (bits & ~mask) | value)) {
  }
}

int value_for_thread(uint64_t mask, unsigned shift) {
  return (overrides.mask & mask) == 0 ? kNoOverride
                                      : static_cast<int>((overrides.bits & mask) >> shift);
}

void set_for_thread(uint64_t mask, unsigned shift, int value) {
  Overrides wanted = {overrides.mask & ~mask, overrides.bits & ~mask};
  if (value != kNoOverride) {
    wanted.mask |= mask;
    wanted.bits |= static_cast<uint64_t>(value) << shift;
  }
  set_overrides(wanted);
}

void check(Flag flag, unsigned value) {
  const FlagInfo& info = all_flags()[static_cast<size_t>(flag)];
  if (value < info.values.size()) return;
  invalid_argument(fmt::format("config: flag {} takes a value from 0 to {}, got {}", info.name,
                               info.values.size() - 1, value));
}

// Whether an environment variable switches the flag on, as FARCALL_DEBUG_NANS=1 does.
bool is_on_in_environment(std::string_view flag) {
  std::string name = fmt::format("FARCALL_{}", flag);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
  return environment_switch_at_load(name.c_str(), false);
}

}  // namespace

const std::array<FlagInfo, kNumFlags>& all_flags() {
  static constexpr std::string_view kSwitch[] = {"false", "true"};
  static constexpr std::string_view kDtypePromotions[] = {"standard", "strict"};
  static constexpr std::string_view kRankPromotions[] = {"allow", "warn", "raise"};
  // Of both operands, or of the left and the right one.
  static constexpr std::string_view kPrecisions[] = {
      "none", "default",       "default, high",    "default, highest", "high, default",
      "high", "high, highest", "highest, default", "highest, high",    "highest"};
  static constexpr std::array<FlagInfo, kNumFlags> table = {{
      {Flag::kEnableX64, "enable_x64", kSwitch},
      {Flag::kDebugNans, "debug_nans", kSwitch},
      {Flag::kDebugInfs, "debug_infs", kSwitch},
      {Flag::kDisableJit, "disable_jit", kSwitch},
      {Flag::kLogCompiles, "log_compiles", kSwitch},
      {Flag::kNumpyDtypePromotion, "numpy_dtype_promotion", kDtypePromotions},
      {Flag::kNumpyRankPromotion, "numpy_rank_promotion", kRankPromotions},
      {Flag::kCheckForeignCalls, "check_foreign_calls", kSwitch},
      {Flag::kMatmulPrecision, "default_matmul_precision", kPrecisions},
  }};
  return table;
}

namespace detail {

std::atomic<uint64_t> process_flags{0};

uint64_t flags_of_thread() {
  constexpr uint64_t kFlags = (uint64_t{1} << kThreadsShift) - 1;
  const uint64_t flags = process_flags.load(std::memory_order_relaxed) & kFlags;
  return (flags & ~overrides.mask) | overrides.bits;
}

}  // namespace detail

namespace {

// Only flags that find defects; they do not change what a program computes.
[[maybe_unused]] const bool kEnvironmentIsRead = [] {
  for (const Flag flag : {Flag::kDebugNans, Flag::kDebugInfs, Flag::kCheckForeignCalls}) {
    if (is_on_in_environment(all_flags()[static_cast<size_t>(flag)].name)) set_flag(flag, 1);
  }
  return true;
}();

}  // namespace

void set_flag(Flag flag, unsigned value) {
  check(flag, value);
  set_for_process(detail::mask_of(flag), uint64_t{value} << detail::shift_of(flag));
}

void set_default_device_number(unsigned number) {
  set_for_process(detail::kDeviceMask, uint64_t{number} << detail::kDeviceShift);
}

FlagScope::FlagScope(Flag flag, unsigned value)
    : previous_mask_(overrides.mask), previous_bits_(overrides.bits) {
  check(flag, value);
  set_thread_override(flag, static_cast<int>(value));
}

FlagScope::~FlagScope() { set_overrides({previous_mask_, previous_bits_}); }

int thread_override(Flag flag) {
  return value_for_thread(detail::mask_of(flag), detail::shift_of(flag));
}

void set_thread_override(Flag flag, int value) {
  if (value != kNoOverride) check(flag, static_cast<unsigned>(value));
  set_for_thread(detail::mask_of(flag), detail::shift_of(flag), value);
}

int thread_default_device_number() {
  return value_for_thread(detail::kDeviceMask, detail::kDeviceShift);
}

void set_thread_default_device_number(int number) {
  set_for_thread(detail::kDeviceMask, detail::kDeviceShift, number);
}

}  // namespace farcall
