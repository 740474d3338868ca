// farcall: the command for authors of kernels.
#include <cstdio>
#include <map>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <farcall/core/error.h>
#include <farcall/core/quote.h>
#include <farcall/version.h>

#include "farcall/commands.h"
#include "farcall/report_failure.h"
#include "tools/failure.h"
#include "tools/terminal.h"

using namespace farcall;

int main(int argc, char** argv) {
  CLI::App app{
      "Looks at foreign functions, checks and times them, and runs programs that call them.",
      "farcall"};
  app.set_version_flag("--version", FARCALL_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 fine, 1 findings, 2 wrong usage, 3 could not run, 124 time limit.\n"
      "Example:    farcall check libmine.so:my_handler --arg 'f32[N,64]' --ret 'f32[N,64]'");
  std::map<std::string, command::Action> actions;
  actions["new"] = command::add_new(app);
  actions["inspect"] = command::add_inspect(app);
  actions["check"] = command::add_check(app);
  actions["bench"] = command::add_bench(app);
  actions["run"] = command::add_run(app);
  actions["trace"] = command::add_trace(app);
  actions["env"] = command::add_env(app);
  actions["doctor"] = command::add_doctor(app);
  actions["completion"] = command::add_completion(app);
  actions["man"] = command::add_man(app);
  if (argc > 1 && argv[1][0] != '-' && !actions.contains(argv[1])) {
    std::string names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
      names += (names.empty() ? "" : ", ") + command->get_name();
    return command::report_usage(
        argc, argv,
        fmt::format("there is no subcommand {}. The subcommands are {}.", quoted(argv[1]), names));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return command::report_parse_error(app, error, argc, argv);
  }
  const CLI::App& subcommand = *app.get_subcommands().front();
  command::report_interrupts(subcommand);
  try {
    const int code = actions.at(subcommand.get_name())();
    if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
    throw tools::Failure(tools::kCouldNotRun,
                         "the standard output cannot be written: is the disk "
                         "full, or the stream closed?");
  } catch (const tools::Failure& failure) {
    return command::report_failure(subcommand, failure.what(), failure.code());
  } catch (const std::exception& error) {
    return command::report_failure(subcommand, error.what(), tools::kCouldNotRun);
  }
}
