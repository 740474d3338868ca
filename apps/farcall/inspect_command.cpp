#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "farcall/commands.h"
#include "farcall/validators.h"
#include "tools/failure.h"
#include "tools/inspect.h"
#include "tools/operand.h"

namespace farcall::command {
namespace {

struct InspectArguments {
  std::string target, filter, runtime;
  double timeout = 60;
  bool is_json = false;
};

ApiVersion parse_version(const std::string& text) {
  std::vector<int> numbers;
  for (const std::string& part : tools::split(text, '.')) {
    const int64_t number = tools::parse_integer(part, "--runtime");
    if (std::in_range<uint16_t>(number)) numbers.push_back(static_cast<int>(number));
  }
  if (numbers.size() != 2 || std::ranges::count(text, '.') != 1)
    throw tools::Failure(tools::kUsage, "--runtime is a version such as 0.3.");
  return {numbers[0], numbers[1]};
}

int run(const InspectArguments& options) {
  tools::InspectOptions how = {.filter = options.filter, .runtime = {}, .timeout = options.timeout};
  std::string target = options.target;
  if (const size_t colon = target.rfind(':'); colon != std::string::npos) {
    how.filter = target.substr(colon + 1);
    target = target.substr(0, colon);
  }
  if (!options.runtime.empty()) how.runtime = parse_version(options.runtime);
  const tools::Json inspection = tools::inspect(target, how);
  const bool is_named = target != options.target;
  if (is_named && inspection["handlers"].empty()) {
    tools::require_handler(inspection, how.filter, how);
  }
  if (options.is_json) {
    fmt::print("{}\n", inspection.dump(2));
  } else {
    fmt::print("{}", tools::inspection_text(inspection));
  }
  for (const tools::Json& handler : inspection["handlers"]) {
    if (handler.contains("loads_in") && !handler["loads_in"]["loads"].get<bool>())
      return tools::kFindings;
  }
  return tools::kFine;
}

}  // namespace

Action add_inspect(CLI::App& app) {
  auto options = std::make_shared<InspectArguments>();
  CLI::App* command = app.add_subcommand(
      "inspect", "Lists the handlers of a library, and what each says of itself.");
  command
      ->add_option("library", options->target,
                   "A shared library, LIBRARY:SYMBOL, or a Python module that gives capsules")
      ->required();
  command->add_option("--filter", options->filter, "Only handlers with this text in their names");
  command->add_option(
      "--runtime", options->runtime,
      "Also tell whether the handlers load in a runtime of this version, such as 0.3");
  command->add_option("--timeout", options->timeout, "Seconds for all of it")
      ->capture_default_str()
      ->check(positive());
  command->add_flag("--json", options->is_json, "Print JSON");
  command->footer(
      "Exit codes: 0 fine, 1 a handler does not load in the runtime, 3 the library does not load "
      "or has no\n"
      "            such handler, 124 time limit.\n"
      "Example:    farcall inspect libmine.so --runtime 0.3");
  return [options] { return run(*options); };
}

}  // namespace farcall::command
