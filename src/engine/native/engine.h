// The native engine: runs programs on the host, on the calling thread; large products on more.
#pragma once

#include <farcall/program/engine.h>

namespace farcall::native {

// Whose handlers its programs call.
inline constexpr const char* kPlatform = "cpu";

const Engine& engine();

}  // namespace farcall::native
