// Flags that change the behaviour of functions: default dtypes, checks of results, strictness of
// promotion. Each flag has a value for the process; a scope may override it on its thread. The
// defaults are what C++ programs see unless they set a flag. Environment variables switch on
// debug_nans, debug_infs and check_foreign_calls: FARCALL_DEBUG_NANS=1 and so on.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>

namespace farcall {

enum class Flag : uint8_t {
  kEnableX64,            // default dtypes have 64 bits
  kDebugNans,            // a result that holds a nan is an error
  kDebugInfs,            // a result that holds an infinity is an error
  kDisableJit,           // jitted functions run operation by operation
  kLogCompiles,          // each compilation of a program is reported
  kNumpyDtypePromotion,  // a DtypePromotion
  kNumpyRankPromotion,   // a RankPromotion
  kCheckForeignCalls,    // foreign calls compiled while this is on run between guard bytes
                         // (ffi/checked_call.h)
  kMatmulPrecision,      // the precision of products that name none (core/precision.h)
};
inline constexpr size_t kNumFlags = 9;

// Whether operands of different dtypes are promoted. kStrict allows that only for numbers of the
// host language.
enum class DtypePromotion : uint8_t { kStandard, kStrict };
// What happens when broadcasting adds dimensions to an operand of rank 1 or more.
enum class RankPromotion : uint8_t { kAllow, kWarn, kRaise };

struct FlagInfo {
  Flag flag;
  std::string_view name;  // "enable_x64"
  // The names of its values in order, the default first. A switch has "false" and "true".
  std::span<const std::string_view> values;
};
// Indexed by Flag.
FARCALL_API const std::array<FlagInfo, kNumFlags>& all_flags();

namespace detail {
// Bits of each flag.
inline constexpr unsigned kFlagBits = 4;
constexpr unsigned shift_of(Flag flag) { return static_cast<unsigned>(flag) * kFlagBits; }
constexpr uint64_t mask_of(Flag flag) { return ((uint64_t{1} << kFlagBits) - 1) << shift_of(flag); }
// The flags of the process; the bits from kThreadsShift on count the threads that have overrides.
// While that count is 0, no thread-local variable is read.
FARCALL_API extern std::atomic<uint64_t> process_flags;
inline constexpr unsigned kThreadsShift = 44;
FARCALL_API uint64_t flags_of_thread();

// The flags in effect on this thread. Every jitted call reads them.
inline uint64_t current_flags() {
  const uint64_t flags = process_flags.load(std::memory_order_relaxed);
  return flags >> kThreadsShift == 0 ? flags : flags_of_thread();
}
}  // namespace detail

// The value of a flag on this thread.
inline unsigned flag_value(Flag flag) {
  return static_cast<unsigned>((detail::current_flags() & detail::mask_of(flag)) >>
                               detail::shift_of(flag));
}
inline bool is_on(Flag flag) { return flag_value(flag) != 0; }
// Sets the value for the process. Raises INVALID_ARGUMENT for a value that the flag does not have.
FARCALL_API void set_flag(Flag flag, unsigned value);

// Overrides a flag on this thread. Scopes must end in reverse order.
class FARCALL_API FlagScope {
 public:
  // Raises as set_flag does.
  FlagScope(Flag flag, unsigned value);
  ~FlagScope();
  FlagScope(const FlagScope&) = delete;
  FlagScope& operator=(const FlagScope&) = delete;

 private:
  uint64_t previous_mask_, previous_bits_;
};

// The same for front ends whose scopes are not C++ scopes: the flag's override on this thread, or
// kNoOverride if the value of the process holds.
inline constexpr int kNoOverride = -1;
FARCALL_API int thread_override(Flag flag);
FARCALL_API void set_thread_override(Flag flag, int value);

// The device for programs whose inputs are not committed to one, as an index into the list of
// devices (program/engine.h); 0 is the host. It is stored with the flags, so config_key() contains
// it.
inline constexpr unsigned kMaxDevices = 1U << 8;
inline constexpr unsigned kUnresolvedDevice = kMaxDevices - 1;  // before the engine is asked
namespace detail {
inline constexpr unsigned kDeviceShift = 36;
inline constexpr uint64_t kDeviceMask = uint64_t{kMaxDevices - 1} << kDeviceShift;
static_assert(kNumFlags * kFlagBits <= kDeviceShift && kDeviceShift + 8 <= kThreadsShift);
}  // namespace detail
inline unsigned default_device_number() {
  return static_cast<unsigned>((detail::current_flags() & detail::kDeviceMask) >>
                               detail::kDeviceShift);
}
FARCALL_API void set_default_device_number(unsigned number);
// Like thread_override() and set_thread_override().
FARCALL_API int thread_default_device_number();
FARCALL_API void set_thread_default_device_number(int number);

// All flags that affect programs and their execution, as one number, for the keys of program
// caches. Flags that only log are left out.
inline uint64_t config_key() {
  return detail::current_flags() & ~detail::mask_of(Flag::kLogCompiles);
}

// Default dtypes of numbers without an explicit dtype: 32 bits, or 64 with kEnableX64.
inline bool is_x64() { return is_on(Flag::kEnableX64); }
inline DType default_int() { return is_x64() ? DType::kInt64 : DType::kInt32; }
inline DType default_uint() { return is_x64() ? DType::kUInt64 : DType::kUInt32; }
inline DType default_float() { return is_x64() ? DType::kFloat64 : DType::kFloat32; }
inline DType default_complex() { return is_x64() ? DType::kComplex128 : DType::kComplex64; }

}  // namespace farcall
