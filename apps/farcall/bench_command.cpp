#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <farcall/core/quote.h>

#include "farcall/call_options.h"
#include "farcall/commands.h"
#include "farcall/validators.h"
#include "tools/bench/bench.h"
#include "tools/failure.h"
#include "tools/terminal.h"

namespace farcall::command {
namespace {

using tools::Failure;
using tools::Json;

struct BenchArguments : CallOptions {
  tools::BenchOptions how;
  std::string before, output, picture;
  double tolerance = 10;  // per cent
  double noise = 2;       // per cent
  bool has_no_limits = false, is_json = false;
};

Json read_json(const std::string& path) {
  std::ifstream in(path);
  if (!in.is_open()) {
    throw Failure(tools::kCouldNotRun,
                  fmt::format("bench: {}: there is no such file, or it cannot be read.",
                              farcall::quoted(path)));
  }
  const Json json = Json::parse(in, nullptr, false);
  if (json.is_discarded())
    throw Failure(tools::kUsage,
                  fmt::format("bench: {} is not a JSON file.", farcall::quoted(path)));
  return json;
}

// Raises Failure before anything runs if a file cannot be written there.
void check_writable(const std::string& path) {
  if (path.empty()) return;
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  if (!std::filesystem::is_directory(path) && access(folder.c_str(), W_OK) == 0) return;
  throw Failure(tools::kCouldNotRun,
                fmt::format("bench: {} cannot be written: {}.", farcall::quoted(path),
                            std::filesystem::is_directory(folder)
                                ? "no permission, or it is a folder"
                                : fmt::format("there is no folder {}", folder.string())));
}

int exit_code(const std::vector<tools::BenchReport>& reports) {
  int code = tools::kFine;
  for (const tools::BenchReport& report : reports) {
    bool has_run = false;
    for (const tools::BenchCase& test : report.cases) {
      has_run |= test.refusal.empty();
      if (test.num_wrong > 0) return tools::kFindings;
    }
    if (report.is_timed_out) {
      code = tools::kTimeLimit;
    } else if (!report.failure.empty() || !has_run) {
      code = tools::kCouldNotRun;
    }
  }
  return code;
}

// Load from other programs makes times longer and measured limits lower.
void warn_of_load() {
  double load = 0;
  const int num_processors = tools::num_processors();
  if (getloadavg(&load, 1) == 1 && load > num_processors + 0.5)
    fmt::print(stderr,
               "{} {:.1f} programs run on {} processor{}; times are those of a busy machine\n",
               tools::styled(tools::Style::kYellow, "busy:"), load, num_processors,
               num_processors == 1 ? "" : "s");
}

int run(const BenchArguments& options) {
  tools::BenchOptions how = options.how;
  how.noise = options.noise / 100;
  if (!options.picture.empty() && !options.picture.ends_with(".svg") &&
      !options.picture.ends_with(".png"))
    throw Failure(tools::kUsage, "bench: the picture must be a .svg or .png file.");
  check_writable(options.output);
  check_writable(options.picture);
  std::optional<Json> before;  // read first: an invalid file is reported before anything runs
  if (!options.before.empty()) before = read_json(options.before);
  std::vector<tools::CheckSpec> specs;
  for (const std::string& target : options.targets) {
    for (tools::CheckSpec& spec : specs_of(options, target, how.timeout))
      specs.push_back(std::move(spec));
  }
  if (!options.is_json) warn_of_load();
  std::optional<tools::Limits> limits;
  if (!options.has_no_limits) limits = tools::measure_limits();
  auto reports = tools::bench(specs, how);
  std::optional<tools::Comparison> comparison_with_before;
  if (before) {
    comparison_with_before =
        tools::confirmed_comparison(*before, reports, how, options.tolerance / 100);
  }
  Json json = to_json(reports, limits);
  int code = exit_code(reports);
  std::string comparison_text;
  if (before) {
    const tools::Comparison& comparison = *comparison_with_before;
    json["slower"] = comparison.slower;
    for (const std::string& line : comparison.lines) {
      const bool is_slower = std::ranges::count(comparison.slower, line) > 0;
      comparison_text +=
          fmt::format("{}\n", is_slower ? tools::styled(tools::Style::kRed, line) : line);
    }
    if (code == tools::kFine && !comparison.slower.empty()) code = tools::kFindings;
  }
  if (!options.output.empty()) {
    std::ofstream out(options.output);
    out << json.dump(2) << "\n";
    out.close();
    if (!out)
      throw Failure(tools::kCouldNotRun,
                    fmt::format("bench: {} cannot be written.", farcall::quoted(options.output)));
  }
  if (options.is_json) {
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("{}", to_text(reports, limits));
    if (before) fmt::print("\n{}", comparison_text);
  }
  if (!options.picture.empty()) tools::plot(json, options.picture);
  return code;
}

}  // namespace

Action add_bench(CLI::App& app) {
  auto options = std::make_shared<BenchArguments>();
  CLI::App* command = app.add_subcommand(
      "bench", "Times handlers over sizes, and compares them with what the machine does at most.");
  add_call_options(*command, *options);
  command->add_option("--flops", options->how.flops,
                      "Operations of one call, of letters: '2*N*M+N'");
  command->add_option("--bytes", options->how.bytes,
                      "Bytes that one call moves, if not those of its operands");
  command->add_option("--max-bytes", options->how.most_bytes, "Of the operands of the largest size")
      ->transform(CLI::AsSizeValue(false))
      ->transform(CLI::Validator(
          [](const std::string& text) {  // which the conversion takes as a very large number
            return text.starts_with('-') ? "must be a number above 0, got " + text : std::string();
          },
          ""))
      ->default_str("64MB");
  command
      ->add_option("--noise", options->noise, "Stop when the median is known so well, in per cent")
      ->capture_default_str()
      ->check(positive());
  command
      ->add_option("--seconds", options->how.seconds, "The most for each size, warm and again cold")
      ->capture_default_str()
      ->check(positive());
  command->add_option("--timeout", options->how.timeout, "Seconds for one handler")
      ->capture_default_str()
      ->check(positive());
  command->add_option("--seed", options->how.seed, "Of the operands' values")
      ->capture_default_str()
      ->check(not_negative());
  command->add_flag("--no-limits", options->has_no_limits, "Do not measure the machine");
  command->add_option("--output", options->output, "Write the JSON to a file");
  command->add_option("--plot", options->picture, "Draw the times to a .svg or .png file");
  command->add_option("--compare", options->before,
                      "A JSON file of an earlier run; exit code 1 if something is slower now");
  command
      ->add_option("--tolerance", options->tolerance,
                   "How much slower is no finding, in per cent, beside the noise")
      ->capture_default_str()
      ->check(not_negative());
  command->add_flag("--json", options->is_json, "Print JSON");
  command->footer(
      "warm: the same operands again and again. cold: they are not in the caches.\n"
      "rate: bytes of the operands by time. of limit: the least time that memory and arithmetic "
      "need\non all threads, by the cold time. Handlers with the same operands are compared with "
      "the first.\n"
      "Exit codes: 0 fine, 1 slower or wrong, 2 wrong usage, 3 could not run.\n"
      "Examples:\n"
      "  farcall bench libmine.so:rms_norm --arg 'f32[N,64]' --ret 'f32[N,64]' --attr "
      "eps:f32=1e-5\n"
      "  farcall bench libold.so:f libnew.so:f --plot times.svg");
  return [options] { return run(*options); };
}

}  // namespace farcall::command
