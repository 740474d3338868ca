#include "farcall/report_failure.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <farcall/core/edit_distance.h>

#include "tools/failure.h"
#include "tools/json.h"

namespace farcall::command {

namespace {

// Not fmt::print, which throws if the stream cannot be written.
void print_error(const tools::Json& report) {
  std::puts(report.dump(2, ' ', false, tools::Json::error_handler_t::replace).c_str());
}

int g_json_output = -1;  // -1: without --json
pid_t g_reporting_process = 0;

bool has_json(const CLI::App& subcommand) {
  const CLI::Option* json = subcommand.get_option_no_throw("--json");
  return json && json->count() > 0;
}

void write_text(int file, const char* text) {
  [[maybe_unused]] const ssize_t written = write(file, text, std::strlen(text));
}

// The action of the signal is the default one again.
void on_interrupt(int signal) {
  // Processes that this one forks have the same handler.
  if (getpid() == g_reporting_process) {
    report_failure_now(signal == SIGINT    ? "interrupted by SIGINT"
                       : signal == SIGTERM ? "interrupted by SIGTERM"
                                           : "interrupted by SIGHUP");
  }
  raise(signal);
}

bool wants_json(int argc, char** argv) {
  return std::any_of(argv + 1, argv + argc,
                     [](const char* word) { return std::string_view(word) == "--json"; });
}

// ": did you mean --json?" for an unknown option that is nearly one of the subcommand's.
std::string meant_option(const CLI::App& subcommand, int argc, char** argv) {
  constexpr size_t kMostWrong = 2;
  std::string nearest;
  size_t least = kMostWrong + 1;
  for (const char* word : std::span(argv + 1, argv + argc)) {
    const std::string_view name =
        std::string_view(word).substr(0, std::string_view(word).find('='));
    if (!name.starts_with("--") || subcommand.get_option_no_throw(std::string(name))) continue;
    for (const CLI::Option* option : subcommand.get_options()) {
      for (const std::string& known : option->get_lnames()) {
        if (const size_t wrong = edit_distance(name.substr(2), known); wrong < least) {
          least = wrong;
          nearest = known;
        }
      }
    }
  }
  return nearest.empty() ? "" : fmt::format("; did you mean --{}?", nearest);
}

}  // namespace

void report_interrupts(const CLI::App& subcommand) {
  if (!has_json(subcommand)) return;
  g_reporting_process = getpid();
  g_json_output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_DFL) sigaction(signal, &action, nullptr);
  }
}

void report_failure_now(const char* message) {
  if (g_json_output >= 0) {
    write_text(g_json_output, "{\"error\": \"");
    write_text(g_json_output, message);
    write_text(g_json_output, "\"}\n");
  }
  write_text(STDERR_FILENO, "farcall: ");
  write_text(STDERR_FILENO, message);
  write_text(STDERR_FILENO, "\n");
}

int report_failure(const CLI::App& subcommand, const char* message, int code) {
  if (has_json(subcommand)) {
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
  if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
  const auto chosen = app.get_subcommands(
      [&](const CLI::App* candidate) { return argc > 1 && candidate->get_name() == argv[1]; });
  const CLI::App* subcommand = chosen.empty() ? nullptr : chosen[0];
  std::string message = error.what();
  if (subcommand) message += meant_option(*subcommand, argc, argv);
  if (!message.ends_with('.') && !message.ends_with('?')) message += '.';
  message += fmt::format(" See farcall {}--help.", subcommand ? subcommand->get_name() + " " : "");
  return report_usage(argc, argv, message);
}

}  // namespace farcall::command
