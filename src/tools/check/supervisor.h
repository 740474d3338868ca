// Starts the processes that call a handler, and collects their findings.
#pragma once

#include "tools/check/report.h"

namespace farcall::tools {

// The calling process must have a single thread.
CheckReport check(const CheckSpec& spec, const CheckOptions& options);

}  // namespace farcall::tools
