// The kind and the message of a finding for a process that ended.
#pragma once

#include <string>

#include "tools/check/report.h"
#include "tools/check/signals.h"

namespace farcall::tools {

// Sets kind, operand and message. `status` is that of waitpid; `last_words` is what the process
// printed last.
void describe_crash(const signals::Crash& crash, int status, const std::string& last_words,
                    CheckFinding& finding);

}  // namespace farcall::tools
