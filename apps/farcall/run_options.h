// The options of run and trace. The command farcall declares them for its help, manual page and
// completion; farcall-run, which it starts, parses them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace farcall::command {

struct RunOptions {
  std::string program;  // a file, "-", or LIBRARY:SYMBOL
  std::vector<std::string> arguments, libraries;
  std::vector<std::string> results, attributes;  // of a handler
  std::string save;                              // of run
  std::string output = "trace.json";             // of trace
  int num_runs = 10;                             // of trace
  uint64_t seed = 0;
  std::optional<double> timeout;  // seconds
  bool is_checked = false, is_json = false;
};

// These add the subcommands, whose parsing fills in the options.
CLI::App* add_run_options(CLI::App& app, RunOptions& options);
CLI::App* add_trace_options(CLI::App& app, RunOptions& options);

}  // namespace farcall::command
