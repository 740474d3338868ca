// The results that a reference gives for the inputs of a call.
#pragma once

#include <cstddef>
#include <vector>

#include "tools/check/worker.h"

namespace farcall::tools {

// The operands in row-major order (`in_order`), or in the order of memory. Raises
// Failure(kCouldNotRun) if the reference fails.
std::vector<std::vector<std::byte>> results_of_reference(Session& session, const Case& test,
                                                         const Call& call, bool in_order);

}  // namespace farcall::tools
