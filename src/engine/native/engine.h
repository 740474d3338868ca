// The native engine: runs programs on the host, on the calling thread; large operations use more
// threads.
#pragma once

#include <farcall/program/engine.h>

namespace farcall::native {

// The platform whose handlers its programs call.
inline constexpr const char* kPlatform = "cpu";

const Engine& engine();

}  // namespace farcall::native
