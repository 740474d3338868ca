#include "farcall/report_failure.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tools/failure.h"
#include "tools/json.h"

namespace farcall::command {

namespace {

void print_error(const tools::Json& report) {
  fmt::print("{}\n", report.dump(2, ' ', false, tools::Json::error_handler_t::replace));
}

bool wants_json(int argc, char** argv) {
  return std::any_of(argv + 1, argv + argc,
                     [](const char* word) { return std::string_view(word) == "--json"; });
}

}  // namespace

int report_failure(const CLI::App& subcommand, const char* message, int code) {
  const CLI::Option* json = subcommand.get_option_no_throw("--json");
  if (json && json->count() > 0) {
    tools::Json report = {{"error", message}};
    if (code == tools::kCouldNotRun) report["verdict"] = "could-not-run";
    print_error(report);
  }
  fmt::print(stderr, "farcall: {}\n", message);
  return code;
}

int report_usage(int argc, char** argv, const std::string& message) {
  if (argc > 1 && wants_json(argc, argv)) print_error({{"error", message}});
  fmt::print(stderr, "farcall: {}\n", message);
  return tools::kUsage;
}

int report_parse_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  if (error.get_exit_code() != 0 && argc > 1 && wants_json(argc, argv)) {
    print_error({{"error", error.what()}});
  }
  return app.exit(error) == 0 ? tools::kFine : tools::kUsage;
}

}  // namespace farcall::command
