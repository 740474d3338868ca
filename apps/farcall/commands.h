// The subcommands. Each adds itself to the program; its function returns the exit code.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tools/plugin.h"

namespace CLI {
class App;
}

namespace farcall::command {

using Action = std::function<int()>;

Action add_new(CLI::App& app);
Action add_inspect(CLI::App& app);
Action add_check(CLI::App& app);
Action add_bench(CLI::App& app);
Action add_run(CLI::App& app);
Action add_trace(CLI::App& app);
Action add_env(CLI::App& app);
Action add_doctor(CLI::App& app);
Action add_completion(CLI::App& app);
Action add_man(CLI::App& app);

// What this machine has: names and values for `farcall env`.
struct Environment {
  std::vector<std::pair<std::string, std::string>> facts;
  tools::PjrtPlugin plugin;
};
Environment environment();

}  // namespace farcall::command
