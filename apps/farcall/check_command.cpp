#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "farcall/call_options.h"
#include "farcall/commands.h"
#include "farcall/validators.h"
#include "tools/check/report.h"
#include "tools/check/sanitizer.h"
#include "tools/check/supervisor.h"
#include "tools/child.h"
#include "tools/elf_file.h"
#include "tools/failure.h"

namespace farcall::command {
namespace {

using tools::CheckReport;
using tools::CheckSpec;
using tools::Failure;
using tools::Json;

struct CheckArguments : CallOptions {
  std::string kinds;
  tools::CheckOptions how;
  int num_jobs = 1;
  bool is_json = false;
};

struct Result {
  Json json;
  std::string text;
  int code;
};

CheckReport check_variants(const CheckSpec& spec, const tools::CheckOptions& how) {
  const CheckReport report = tools::check(spec, how);
  const bool is_refused = report.verdict() == "could-not-run" && !report.refusal.empty();
  if (!is_refused || report.is_timed_out) return report;
  for (const CheckSpec& variant : spec.alternatives) {
    const CheckReport other = tools::check(variant, how);
    if (other.verdict() != "could-not-run") return other;
  }
  return report;
}

Result run_one(const CheckSpec& spec, const tools::CheckOptions& how) {
  CheckReport report;
  report.spec = spec;
  report.failure = spec.problem;
  try {
    if (spec.problem.empty()) report = check_variants(spec, how);
  } catch (const Failure& failure) {
    if (failure.code() == tools::kUsage) throw;
    report.failure = failure.what();
  }
  return {tools::to_json(report), tools::to_text(report), report.exit_code()};
}

// Checks each handler in its own process, several at once.
std::vector<Result> run_jobs(const std::vector<CheckSpec>& specs, const CheckArguments& options) {
  std::vector<Result> results(specs.size());
  for (size_t begin = 0; begin < specs.size();) {
    const size_t count = std::min(specs.size() - begin, static_cast<size_t>(options.num_jobs));
    std::vector<tools::Child> children;
    for (size_t i = 0; i < count; ++i) {
      children.emplace_back([&, i](int fd) {
        tools::CheckOptions how = options.how;
        how.shows_progress = false;
        const Result result = run_one(specs[begin + i], how);
        tools::write_all(
            fd, Json({{"json", result.json}, {"text", result.text}, {"code", result.code}}).dump());
      });
    }
    for (size_t i = 0; i < count; ++i) {
      const tools::ChildResult child = children[i].wait(options.how.timeout + 60);
      const Json json = Json::parse(child.output, nullptr, false);
      if (json.is_discarded())
        throw Failure(tools::kCouldNotRun,
                      fmt::format("{}: the check {}.", specs[begin + i].name(),
                                  child.is_timed_out ? "timed out" : "ended without a result"));
      results[begin + i] = {json["json"], json["text"], json["code"]};
    }
    begin += count;
  }
  return results;
}

// A library with a sanitizer needs its runtime in this process from the start.
void get_sanitizer_for(const std::string& library) {
  if (!std::filesystem::is_regular_file(library) || library.ends_with(".toml")) return;
  const tools::ElfFile file = tools::read_elf(library);
  const std::vector<std::string> missing = tools::sanitizer::missing_for(file);
  if (missing.empty()) return;
  if (!std::ranges::all_of(missing, tools::sanitizer::can_preload)) {
    throw Failure(tools::kCouldNotRun,
                  fmt::format("{}: {}.", library, tools::sanitizer::problem_of(file)));
  }
  throw Failure(tools::kCouldNotRun, fmt::format("{}: it was built with -fsanitize={}, and {}.",
                                                 library, fmt::join(missing, ","),
                                                 tools::sanitizer::restart_for(library, missing)));
}

int run(const CheckArguments& options) {
  tools::sanitizer::forget_restart();
  for (const std::string& target : options.targets) {
    get_sanitizer_for(target);
    get_sanitizer_for(target.substr(0, target.rfind(':')));
  }
  tools::CheckOptions how = options.how;
  if (!options.kinds.empty()) how.kinds = tools::split(options.kinds, ',');
  for (const std::string& kind : how.kinds) {
    if (std::ranges::find(tools::kFindingKinds, kind) == std::end(tools::kFindingKinds))
      throw Failure(tools::kUsage,
                    fmt::format("--kind: there is no finding of kind \"{}\". The kinds are {}.",
                                kind, fmt::join(tools::kFindingKinds, ", ")));
  }
  std::vector<CheckSpec> specs;
  for (const std::string& target : options.targets) {
    for (CheckSpec& spec : specs_of(options, target, options.how.timeout))
      specs.push_back(std::move(spec));
  }
  std::set<std::string> libraries;
  for (const CheckSpec& spec : specs) libraries.insert(spec.library);
  for (const std::string& library : libraries) get_sanitizer_for(library);
  for (const CheckSpec& spec : specs) {
    if (spec.problem.empty()) tools::verify(spec);
  }
  std::vector<Result> results;
  if (options.num_jobs > 1 && specs.size() > 1) {
    CheckArguments parallel = options;
    parallel.how = how;
    results = run_jobs(specs, parallel);
  } else {
    for (const CheckSpec& spec : specs) {
      results.push_back(run_one(spec, how));
      if (!options.is_json) fmt::print("{}{}", results.size() > 1 ? "\n" : "", results.back().text);
      std::fflush(stdout);
    }
  }
  int worst = tools::kFine;
  for (const Result& result : results) {
    // A handler with findings outweighs one that could not run.
    const bool is_worse = worst == tools::kFine || result.code == tools::kFindings;
    if (result.code != tools::kFine && is_worse) worst = result.code;
    if (!options.is_json && options.num_jobs > 1 && specs.size() > 1)
      fmt::print("{}\n", result.text);
  }
  if (!options.is_json) return worst;
  Json all = Json::array();
  for (const Result& result : results) all.push_back(result.json);
  fmt::print("{}\n",
             (all.size() == 1 ? all[0] : all).dump(2, ' ', false, Json::error_handler_t::replace));
  return worst;
}

}  // namespace

Action add_check(CLI::App& app) {
  auto options = std::make_shared<CheckArguments>();
  CLI::App* command =
      app.add_subcommand("check", "Calls a handler in many ways, and tells what it does wrong.");
  add_call_options(*command, *options);
  command
      ->add_option("--reference", options->reference,
                   "A handler (LIBRARY:SYMBOL) or a Python function of arrays (MODULE:NAME) that "
                   "gives the right results")
      ->group("The call");
  command->add_option("--seed", options->how.seed, "Of the operands' values")
      ->capture_default_str()
      ->check(not_negative());
  command->add_option("--kind", options->kinds,
                      "Report these kinds of findings only: oob-write,leak");
  command->add_option("--jobs", options->num_jobs, "Handlers that are checked at once")
      ->capture_default_str()
      ->check(positive());
  command
      ->add_option("--threads", options->how.num_threads, "Threads that call the handler at once")
      ->capture_default_str()
      ->check(CLI::Range(2, 64));
  command->add_option("--timeout", options->how.timeout, "Seconds for one handler")
      ->capture_default_str()
      ->check(positive());
  command->add_option("--call-timeout", options->how.call_timeout, "Seconds for one call")
      ->capture_default_str()
      ->check(positive());
  command->add_option("--alignment", options->how.alignment, "Of the operands, in bytes")
      ->capture_default_str()
      ->check(power_of_two(4096));
  command->add_flag("--json", options->is_json, "Print JSON");
  command->footer(
      "Kinds: oob-write oob-read input-write unwritten-result uninitialised-read nondeterministic\n"
      "       race leak alias layout crash abort timeout exception silent-error wrong-result\n"
      "Exit codes: 0 clean, 1 findings, 2 wrong usage, 3 could not run, 124 time limit.\n"
      "Examples:\n"
      "  farcall check libmine.so:rms_norm --arg 'f32[N,64]' --ret 'f32[N,64]' --attr "
      "eps:f32=1e-5\n"
      "  farcall check libmine.so --jobs 2");
  return [options] { return run(*options); };
}

}  // namespace farcall::command
