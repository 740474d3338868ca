// For processors without an assembler.
#include "engine/native/jit/encode.h"

namespace farcall::native::jit {

const Processor& processor() {
  static constexpr Processor kNone{};
  return kNone;
}

bool fits_in_registers(const Code&) { return true; }

std::vector<std::byte> encode(const Code&) { return {}; }

}  // namespace farcall::native::jit
