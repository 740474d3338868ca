// For processors without an assembler.
#include "engine/native/jit/encode.h"

namespace farcall::native::jit {

bool can_encode() { return false; }

std::vector<std::byte> encode(const Code&) { return {}; }

}  // namespace farcall::native::jit
