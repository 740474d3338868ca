// How the commands report that they could not run.
#pragma once

namespace CLI {
class App;
}

namespace farcall::command {

// Prints the message to the standard error; with --json among the options of the subcommand, also
// {"error": message} to the standard output, with the verdict of check for a handler that could not
// run. Returns `code`, the exit code.
int report_failure(const CLI::App& subcommand, const char* message, int code);

}  // namespace farcall::command
