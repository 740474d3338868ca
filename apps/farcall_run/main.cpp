// farcall-run: runs programs for `farcall run` and `farcall trace`.
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <fcntl.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <optional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <farcall/core/config.h>
#include <farcall/core/element_text.h>
#include <farcall/core/error.h>
#include <farcall/ffi/isolation.h>
#include <farcall/program/profile.h>
#include <farcall/trace/jit.h>

#include "farcall/report_failure.h"
#include "farcall/run_options.h"
#include "farcall_run/job.h"
#include "farcall_run/npy.h"
#include "tools/failure.h"

using namespace farcall;
using Json = nlohmann::ordered_json;

namespace {

const pid_t g_process = getpid();

// _exit, which is replaced below.
[[noreturn]] void end_process(int code) {
  while (true) syscall(SYS_exit_group, code);
}

void limit_time(double seconds) {
  std::signal(SIGALRM, [](int) {
    command::report_failure_now("the time limit has passed");
    end_process(tools::kTimeLimit);
  });
  const auto whole = static_cast<time_t>(seconds);
  const auto rest = static_cast<suseconds_t>((seconds - static_cast<double>(whole)) * 1e6);
  const itimerval timer = {{0, 0}, {whole, whole == 0 ? std::max<suseconds_t>(rest, 1) : rest}};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

// ---- results ----

// A JSON number if JSON can represent it, else a string: "nan", "inf", complex numbers.
Json json_of(DType dtype, const std::byte* element) {
  const std::string text = format_element(dtype, element);
  if (text == "True" || text == "False") return text == "True";
  Json number = Json::parse(text, nullptr, false);
  return number.is_number() ? number : Json(text);
}

Json json_of(const Array& array) {
  const size_t width = byte_width(array.dtype());
  const auto* data = static_cast<const std::byte*>(array.data());
  Json values = Json::array();
  for (int64_t i = 0; i < array.size(); ++i) {
    values.push_back(json_of(array.dtype(), data + static_cast<size_t>(i) * width));
  }
  return {{"dtype", dtype_name(array.dtype())}, {"shape", array.shape()}, {"values", values}};
}

void save(const std::string& path, const std::vector<Array>& results) {
  if (results.size() == 1) return runner::write_npy(path, results[0]);
  const std::string stem = path.substr(0, path.size() - 4);
  for (size_t i = 0; i < results.size(); ++i) {
    runner::write_npy(fmt::format("{}.{}.npy", stem, i), results[i]);
  }
}

// ---- handlers ----

bool g_is_running = false;
int g_output = -1;  // the standard output, while the handlers have another one

void end_running() {
  g_is_running = false;
  if (g_output < 0) return;
  std::fflush(stdout);
  dup2(g_output, STDOUT_FILENO);
  close(g_output);
  g_output = -1;
}

// While it lives, handlers may run. With --json, what they print goes to the standard error stream,
// so that the output is JSON alone.
class Running {
 public:
  explicit Running(bool is_json) {
    g_is_running = true;
    if (!is_json) return;
    std::fflush(stdout);
    g_output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    dup2(STDERR_FILENO, STDOUT_FILENO);
  }
  ~Running() { end_running(); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
};

// ---- the subcommands ----

int run(const command::RunOptions& options) {
  if (!options.save.empty() && !options.save.ends_with(".npy")) {
    throw tools::Failure(tools::kUsage, "--save: the name of the file ends with .npy.");
  }
  std::vector<Array> results;
  {
    const Running running(options.is_json);
    const runner::Job job = runner::make_job(options);
    results = run(*compile(job.program, host_device()), job.arguments, {}, false);
  }
  if (!options.save.empty()) save(options.save, results);
  if (options.is_json) {
    Json json = {{"program", options.program}, {"results", Json::array()}};
    for (const Array& result : results) json["results"].push_back(json_of(result));
    fmt::print("{}\n", json.dump());  // compact: one line per number would be unreadable
    return tools::kFine;
  }
  for (const Array& result : results) {
    fmt::print("{} = {}\n", result.type().to_string(), result.to_string());
  }
  return tools::kFine;
}

int trace(const command::RunOptions& options) {
  std::optional<Running> running(options.is_json);
  const runner::Job job = runner::make_job(options);
  Profile profile(options.output);
  const auto executable = compile(job.program, host_device());
  for (int i = 0; i < options.num_runs; ++i) run(*executable, job.arguments, {}, false);
  profile.stop();
  running.reset();
  if (!options.is_json) {
    fmt::print("{}\nThe trace of {} runs is in {}: open it in https://ui.perfetto.dev\n",
               profile.to_text(), options.num_runs, options.output);
    return tools::kFine;
  }
  Json json = {{"program", options.program},
               {"runs", options.num_runs},
               {"trace", options.output},
               {"rows", Json::array()}};
  for (const ProfileRow& row : profile.rows()) {
    json["rows"].push_back({{"name", row.name},
                            {"category", row.category},
                            {"calls", row.calls},
                            {"seconds", row.seconds},
                            {"self_seconds", row.self_seconds},
                            {"bytes", row.bytes}});
  }
  fmt::print("{}\n", json.dump(2));
  return tools::kFine;
}

// ---- errors ----

const CLI::App* g_subcommand = nullptr;
void report_crash(const char* text) {
  end_running();
  const std::string message = fmt::format("the handler ended the program with {}", text);
  command::report_failure(*g_subcommand, message.c_str(), tools::kCouldNotRun);
  std::fflush(stdout);
  end_process(tools::kCouldNotRun);
}

void on_exit() {
  if (g_is_running) report_crash("exit()");
}

// The library's advice for programs in C++ and Python, as one for the command.
std::string for_the_command(std::string message) {
  constexpr std::string_view advice = "register_ffi_target adds one";
  const size_t at = message.find(advice);
  if (at == std::string::npos) return message;
  return message.replace(at, advice.size(), "--lib LIBRARY:SYMBOL=TARGET adds one");
}

// An error that the checks of a call report counts as a finding; other errors of handlers do not.
int code_of(const FfiError& error) {
  return error.detail().starts_with("check_foreign_calls: ") ? tools::kFindings
                                                             : tools::kCouldNotRun;
}

// Processes that a handler forks may end in any way.
[[noreturn]] void leave(const char* function, int code) {
  if (g_is_running && getpid() == g_process) report_crash(function);
  end_process(code);
}

}  // namespace

// In effect for this program and every library that it loads.
#define EXPORT extern "C" __attribute__((visibility("default")))
EXPORT void _exit(int code) { leave("_exit()", code); }
EXPORT void _Exit(int code) { leave("_Exit()", code); }
EXPORT void quick_exit(int code) noexcept { leave("quick_exit()", code); }

int main(int argc, char** argv) {
  // The library starts the program this way for an isolated target (farcall/ffi/isolation.h).
  if (argc == 2 && std::string_view(argv[1]) == "--isolated") {
    detail::serve_isolated_calls(3, 4);
  }
  CLI::App app{"Runs programs for the command farcall.", "farcall"};
  app.require_subcommand(1);
  command::RunOptions options;
  const CLI::App* const run_command = command::add_run_options(app, options);
  command::add_trace_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return command::report_parse_error(app, error, argc, argv);
  }
  const CLI::App& subcommand = *app.get_subcommands().front();
  try {
    g_subcommand = &subcommand;
    command::report_interrupts(subcommand);
    detail::report_crashes(report_crash);
    std::atexit(on_exit);
    if (options.timeout) limit_time(*options.timeout);
    if (options.is_checked) set_flag(Flag::kCheckForeignCalls, 1);
    return run_command->parsed() ? run(options) : trace(options);
  } catch (const tools::Failure& failure) {
    return command::report_failure(subcommand, failure.what(), failure.code());
  } catch (const FfiError& error) {
    return command::report_failure(subcommand, for_the_command(error.what()).c_str(),
                                   code_of(error));
  } catch (const std::exception& error) {
    return command::report_failure(subcommand, for_the_command(error.what()).c_str(),
                                   tools::kCouldNotRun);
  }
}
