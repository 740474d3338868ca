#include "tools/check/floating_point.h"

#include <cfenv>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace farcall::tools {
namespace {

#if defined(__x86_64__)
constexpr unsigned kSubnormals = 0x8040;  // flush results to zero, take operands as zero
constexpr unsigned kFlags = 0x3f;         // exceptions that occurred: not a mode
unsigned control() { return _mm_getcsr() & ~kFlags; }
void set_control(unsigned value) { _mm_setcsr(value | (_mm_getcsr() & kFlags)); }
#else
constexpr unsigned kSubnormals = 0;
unsigned control() { return 0; }
void set_control(unsigned) {}
#endif

}  // namespace

FloatingPointMode::FloatingPointMode() : rounding_(std::fegetround()), control_(control()) {}

std::string FloatingPointMode::restore() const {
  std::string changed;
  const unsigned difference = control() ^ control_;
  if (std::fegetround() != rounding_) {
    changed = "the direction of rounding";
  } else if ((difference & kSubnormals) != 0) {
    changed = "the treatment of subnormal numbers";
  } else if (difference != 0) {
    changed = "the exceptions that trap";
  }
  if (changed.empty()) return changed;
  std::fesetround(rounding_);
  set_control(control_);
  return changed;
}

}  // namespace farcall::tools
