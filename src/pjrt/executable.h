// A program that a plugin has compiled.
#pragma once

#include <memory>

#include <farcall/program/engine.h>

#include "pjrt/client.h"

namespace farcall::pjrt {

// Raises what lowering and the plugin raise.
std::shared_ptr<const Executable> compile_for(const PjrtDevice& device, ProgramPtr program);

}  // namespace farcall::pjrt
