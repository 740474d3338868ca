// How the commands report that they could not run.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace farcall::command {

// From now on, with --json among the options of the subcommand, {"error": …} is printed to the
// standard output if a signal such as SIGINT ends this process, and by report_failure_now().
void report_interrupts(const CLI::App& subcommand);

// The message to the standard error, and as JSON to the standard output as it was when
// report_interrupts() was called. For signal handlers. The message has no character that JSON
// escapes.
void report_failure_now(const char* message);

// Prints the message to the standard error; with --json among the options of the subcommand, also
// {"error": message} to the standard output, with the verdict of check for a handler that could not
// run. Returns `code`, the exit code.
int report_failure(const CLI::App& subcommand, const char* message, int code);

// The same for arguments that do not parse: with --json among them, also prints {"error": message}
// to the standard output.
int report_usage(int argc, char** argv, const std::string& message);
// For an error of the parser. Help and versions are such errors, too; their exit code is 0.
int report_parse_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv);

}  // namespace farcall::command
