// Handlers by the names that a command gets.
#pragma once

#include <array>
#include <string>

#include <farcall/abi.h>
#include <farcall/ffi/registry.h>

#include "tools/check/spec.h"

namespace farcall::tools {

using Handlers = std::array<FARCALL_FFI_Handler*, kNumStages>;  // null where there is no such stage

// Loads the library, or imports the Python module, into this process. Raises Error for a library
// that does not load or a symbol that it has not, Failure(kCouldNotRun) for a module.
Handlers find_handlers(const std::string& library_name,
                       const std::array<std::string, kNumStages>& symbols);
HandlerBundle bundle_of(const Handlers& handlers);

// Plain numbers get the types that the stages declare.
Attributes typed_attributes(const CheckSpec& spec, const Handlers& handlers);

}  // namespace farcall::tools
