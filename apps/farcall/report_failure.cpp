#include "farcall/report_failure.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tools/failure.h"
#include "tools/json.h"

namespace farcall::command {

int report_failure(const CLI::App& subcommand, const char* message, int code) {
  const CLI::Option* json = subcommand.get_option_no_throw("--json");
  if (json && json->count() > 0) {
    tools::Json report = {{"error", message}};
    if (code == tools::kCouldNotRun) report["verdict"] = "could-not-run";
    fmt::print("{}\n", report.dump(2, ' ', false, tools::Json::error_handler_t::replace));
  }
  fmt::print(stderr, "farcall: {}\n", message);
  return code;
}

}  // namespace farcall::command
