// The subcommands. Each adds itself to the program; its function gives the exit code.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace farcall::command {

using Action = std::function<int()>;

Action add_inspect(CLI::App& app);
Action add_check(CLI::App& app);
Action add_env(CLI::App& app);
Action add_doctor(CLI::App& app);

// Names and values, as `farcall env` and print_environment_info tell them.
using Facts = std::vector<std::pair<std::string, std::string>>;
Facts environment();

}  // namespace farcall::command
