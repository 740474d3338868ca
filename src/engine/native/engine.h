// The native engine: runs programs on the host, on the calling thread.
#pragma once

#include <farcall/program/engine.h>

namespace farcall::native {

const Engine& engine();

}  // namespace farcall::native
