// Finds handlers by the names given to a command.
#pragma once

#include <array>
#include <string>

#include <farcall/abi.h>
#include <farcall/ffi/registry.h>

#include "tools/check/spec.h"

namespace farcall::tools {

using Handlers = std::array<FARCALL_FFI_Handler*, kNumStages>;  // null without such a stage

// Loads the library, or imports the Python module, into this process. Raises Error if a library
// cannot be loaded or lacks a symbol, and Failure(kCouldNotRun) for a module.
Handlers find_handlers(const std::string& library_name,
                       const std::array<std::string, kNumStages>& symbols);
HandlerBundle bundle_of(const Handlers& handlers);

// Gives plain numbers the types that the stages declare.
Attributes typed_attributes(const CheckSpec& spec, const Handlers& handlers);

}  // namespace farcall::tools
