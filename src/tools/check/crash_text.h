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

// Whether the process accessed wrong memory in a call with unusual values. An index that is made of
// nan may lie `far` from every operand; otherwise only an access near an operand counts.
bool is_wrong_access(const signals::Crash& crash, bool far);

// Removes template arguments, which may be very long, from the name of a function.
std::string without_template_arguments(const std::string& name);

}  // namespace farcall::tools
