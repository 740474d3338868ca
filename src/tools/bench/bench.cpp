#include "tools/bench/bench.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <farcall/core/error.h>
#include <farcall/core/quote.h>
#include <farcall/ffi/foreign_call.h>

#include "tools/check/cases.h"
#include "tools/check/data.h"
#include "tools/child.h"
#include "tools/failure.h"
#include "tools/handler.h"
#include "tools/terminal.h"

namespace farcall::tools {
namespace {

constexpr size_t kLeastSamples = 11, kMostSamples = 4000;
constexpr double kSampleSeconds = 5e-5;  // minimum duration of a warm sample
constexpr size_t kLine = 64;

// Removes the bytes from all caches.
void flush(std::span<const std::byte> bytes) {
  for (size_t i = 0; i < bytes.size(); i += kLine) {
#if defined(__x86_64__)
    __builtin_ia32_clflush(&bytes[i]);
#elif defined(__aarch64__)
    asm volatile("dc civac, %0" ::"r"(&bytes[i]) : "memory");
#endif
  }
#if defined(__x86_64__)
  __builtin_ia32_mfence();
#elif defined(__aarch64__)
  asm volatile("dsb sy" ::: "memory");
#endif
}

Timing timing_of(std::vector<double> samples) {
  std::ranges::sort(samples);
  const size_t n = samples.size();
  const auto at = [&](double share) {
    return samples[static_cast<size_t>(share * static_cast<double>(n - 1))];
  };
  Timing timing = {.median = at(0.5), .low = at(0.05), .high = at(0.95), .noise = 0, .count = n};
  // Order statistics: with a probability of 95 %, the median is between these.
  const double half = 0.98 / std::sqrt(static_cast<double>(n));
  timing.noise = (at(std::min(1.0, 0.5 + half)) - at(std::max(0.0, 0.5 - half))) / 2 /
                 std::max(timing.median, 1e-12);
  return timing;
}

class Operands {
 public:
  Operands(const CheckSpec& spec, const Case& test, uint64_t seed) : spec_(spec), test_(test) {
    for (size_t i = 0; i < test.arguments.size(); ++i) {
      inputs_.push_back(random_values(test.arguments[i], seed * 64 + i, spec.arguments[i].range));
      arguments_.push_back(allocate(test.arguments[i].nbytes()));
    }
    for (size_t i = 0; i < test.results.size(); ++i) {
      const auto argument = argument_of(i);
      results_.push_back(argument ? nullptr : allocate(test.results[i].nbytes()));
    }
    reset();
  }

  // Restores the arguments and fills the results with invalid values.
  void reset() {
    for (size_t i = 0; i < inputs_.size(); ++i)
      std::copy(inputs_[i].begin(), inputs_[i].end(), arguments_[i].get());
    for (size_t i = 0; i < results_.size(); ++i) {
      if (results_[i]) std::memset(results_[i].get(), 0xff, test_.results[i].nbytes());
    }
  }

  void give_to(Invocation& invocation) const {
    for (size_t i = 0; i < arguments_.size(); ++i) invocation.set_argument(i, arguments_[i].get());
    for (size_t i = 0; i < results_.size(); ++i) invocation.set_result(i, result(i));
  }

  void leave_caches() const {
    for (size_t i = 0; i < arguments_.size(); ++i)
      flush({arguments_[i].get(), test_.arguments[i].nbytes()});
    for (size_t i = 0; i < results_.size(); ++i) flush({result(i), test_.results[i].nbytes()});
  }

  std::vector<std::vector<std::byte>> results() const {
    std::vector<std::vector<std::byte>> copies;
    for (size_t i = 0; i < results_.size(); ++i)
      copies.emplace_back(result(i), result(i) + test_.results[i].nbytes());
    return copies;
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  using Memory = std::unique_ptr<std::byte, Free>;

  static Memory allocate(size_t nbytes) {
    constexpr size_t kPage = 4096;
    void* memory = std::aligned_alloc(kPage, (nbytes / kPage + 1) * kPage);
    if (!memory) throw Failure(kCouldNotRun, "there is not enough memory for the operands.");
    return Memory(static_cast<std::byte*>(memory));
  }

  std::optional<size_t> argument_of(size_t result) const {
    for (const auto& [argument, aliased] : spec_.aliases) {
      if (aliased == result) return argument;
    }
    return std::nullopt;
  }

  std::byte* result(size_t i) const {
    return results_[i] ? results_[i].get() : arguments_[*argument_of(i)].get();
  }

  const CheckSpec& spec_;
  const Case& test_;
  std::vector<std::vector<std::byte>> inputs_;
  std::vector<Memory> arguments_, results_;  // a result without memory is in its argument's memory
};

// Calls of one handler with one shape. Each execution calls all stages.
class Run {
 public:
  Run(const CheckSpec& spec, const Case& test, std::shared_ptr<const Target> target,
      Attributes attributes, const BenchOptions& options)
      : options_(options),
        operands_(spec, test, options.seed),
        call_({.target = std::move(target),
               .arguments = test.arguments,
               .results = test.results,
               .attributes = std::move(attributes),
               .is_checked = false}),
        invocation_(call_) {
    operands_.give_to(invocation_);
  }

  Operands& operands() { return operands_; }

  void call() {
    invocation_.begin(execution_);
    invocation_.prepare();
    invocation_.initialize();
    invocation_.execute();
    invocation_.end();
  }

  Timing measure_warm() {
    int64_t calls = 1;
    while (seconds_of(calls) < kSampleSeconds && calls < (1 << 20)) calls *= 2;
    return measure([&] { return seconds_of(calls) / static_cast<double>(calls); });
  }

  Timing measure_cold() {
    const double overhead = measure([&] { return seconds_of(0); }).median;
    return measure([&] {
      operands_.leave_caches();
      return std::max(seconds_of(1) - overhead, 1e-10);
    });
  }

 private:
  double seconds_of(int64_t calls) {
    const double begin = now_seconds();
    for (int64_t i = 0; i < calls; ++i) call();
    return now_seconds() - begin;
  }

  Timing measure(const std::function<double()>& sample) const {
    const double end = now_seconds() + options_.seconds;
    std::vector<double> samples;
    Timing timing;
    while (samples.size() < kMostSamples) {
      samples.push_back(sample());
      if (samples.size() < kLeastSamples) {
        if (samples.size() > 2 && now_seconds() > end + options_.seconds) break;
        continue;
      }
      if (samples.size() % 8 == 0) {
        timing = timing_of(samples);
        if (timing.noise < options_.noise) break;
      }
      if (now_seconds() > end) break;
    }
    return timing_of(samples);
  }

  const BenchOptions& options_;
  Operands operands_;
  ForeignCall call_;
  Invocation invocation_;
  ExecutionOptions execution_;
};

std::vector<Case> sweep(const CheckSpec& spec, const BenchOptions& options) {
  const auto letters = letters_of(spec);
  std::vector<Case> cases;
  const auto add = [&](int64_t first, size_t round) {
    Sizes sizes;
    for (size_t i = 0; i < letters.size(); ++i) {
      const auto given = spec.sizes.find(letters[i]);
      sizes[letters[i]] = given != spec.sizes.end() ? given->second[round % given->second.size()]
                          : i == 0                  ? first
                                                    : 64;
    }
    auto made = make_case(spec, std::move(sizes));
    if (!made || (made->nbytes() > options.most_bytes && !cases.empty())) return false;
    cases.push_back(std::move(*made));
    return true;
  };
  size_t num_given = 0;
  for (const auto& [letter, sizes] : spec.sizes) num_given = std::max(num_given, sizes.size());
  const bool is_first_given = letters.empty() || spec.sizes.contains(letters[0]);
  if (is_first_given) {
    for (size_t round = 0; round < std::max<size_t>(1, num_given); ++round) add(0, round);
  } else {
    // Small values may give no valid size, as N-100 does for 16.
    for (int64_t size = 16; size < int64_t{1} << 48; size *= 8) {
      if (!add(size, 0) && !cases.empty()) break;
    }
  }
  if (cases.empty()) throw Failure(kUsage, "bench: " + why_no_cases(spec) + ".");
  return cases;
}

uint64_t count_wrong(const Case& test, const std::vector<std::vector<std::byte>>& wanted,
                     const std::vector<std::vector<std::byte>>& got) {
  uint64_t count = 0;
  for (size_t i = 0; i < wanted.size(); ++i)
    count += !is_close(test.results[i], wanted[i], got[i], 1e-3);
  return count;
}

Timing timing_from(const Json& json) {
  return {json["seconds"], json["low"], json["high"], json["noise"], json["samples"]};
}

struct Handler {
  const CheckSpec& spec;
  Handlers handlers;

  explicit Handler(const CheckSpec& described)
      : spec(described), handlers(find_handlers(spec.library, spec.stages)) {}
  std::unique_ptr<Run> run(const Case& test, const BenchOptions& options) const {
    return std::make_unique<Run>(spec, test, make_target(spec.symbol, bundle_of(handlers)),
                                 typed_attributes(spec, handlers), options);
  }
};

// All measurements for one shape. The results of `reference` are the correct ones.
BenchCase bench_case(const Handler& reference, const Handler& handler, const Case& test,
                     const BenchOptions& options) {
  BenchCase result = {.sizes = test.sizes, .shapes = test.to_string()};
  result.nbytes = options.bytes.empty() ? static_cast<double>(test.nbytes())
                                        : count_of(options.bytes, test.sizes);
  result.flops = options.flops.empty() ? 0 : count_of(options.flops, test.sizes);
  try {
    const auto first = reference.run(test, options);
    first->call();
    const auto wanted = first->operands().results();
    const auto run = handler.run(test, options);
    run->call();
    result.warm = run->measure_warm();
    result.cold = run->measure_cold();
    run->operands().reset();
    run->call();
    result.num_wrong = count_wrong(test, wanted, run->operands().results());
  } catch (const Error& error) {
    result.refusal = error.message();
  }
  return result;
}

// Runs in the child. Writes a line for each shape.
void bench_in_child(const CheckSpec& reference_spec, const CheckSpec& spec, int fd,
                    const BenchOptions& options) {
  // The output of the handler is not the command's output; progress is written to standard error.
  const int null = open("/dev/null", O_WRONLY);
  dup2(null, STDOUT_FILENO);
  try {
    const Handler reference(reference_spec), handler(spec);
    const auto cases = sweep(spec, options);
    Progress progress(options.shows_progress);
    for (size_t i = 0; i < cases.size(); ++i) {
      progress.show(spec.symbol, static_cast<double>(i), static_cast<double>(cases.size()), i,
                    "sizes");
      const BenchCase done = bench_case(reference, handler, cases[i], options);
      write_all(fd, Json({{"sizes", done.sizes},
                          {"shapes", done.shapes},
                          {"bytes", done.nbytes},
                          {"flops", done.flops},
                          {"warm", to_json(done.warm)},
                          {"cold", to_json(done.cold)},
                          {"wrong", done.num_wrong},
                          {"refusal", done.refusal}})
                            .dump(-1, ' ', false, Json::error_handler_t::replace) +
                        "\n");
    }
    progress.clear();
  } catch (const std::exception& error) {
    write_all(fd, Json({{"failure", error.what()}}).dump() + "\n");
  }
}

// Whether the results should be equal: the user named both handlers, or they are versions of one.
// The handlers of a library compute different things.
bool are_compared(const CheckSpec& a, const CheckSpec& b) {
  return (a.is_named && b.is_named) || (a.symbol == b.symbol && a.library != b.library);
}

// The handler that defines the right results: the first with the same operands that this one is
// compared with, or itself.
size_t reference_of(const std::vector<CheckSpec>& specs, size_t index,
                    const BenchOptions& options) {
  const auto shapes_of = [&](size_t i) { return sweep(specs[i], options)[0].to_string(); };
  for (size_t i = 0; i < index && specs[index].problem.empty(); ++i) {
    const bool is_candidate = specs[i].problem.empty() && are_compared(specs[i], specs[index]);
    if (is_candidate && shapes_of(i) == shapes_of(index)) return i;
  }
  return index;
}

BenchReport bench_one(const std::vector<CheckSpec>& specs, size_t reference, size_t index,
                      const BenchOptions& options) {
  BenchReport report = {.spec = specs[index],
                        .reference = specs[reference].name(),
                        .cases = {},
                        .failure = specs[index].problem};
  if (!report.failure.empty()) return report;
  const ChildResult child =
      run_in_child([&](int fd) { bench_in_child(specs[reference], specs[index], fd, options); },
                   options.timeout);
  for (const std::string& line : split(child.output, '\n')) {
    const Json json = line.empty() ? Json() : Json::parse(line, nullptr, false);
    if (!json.is_object()) continue;
    if (json.contains("failure")) {
      report.failure = json["failure"];
      continue;
    }
    report.cases.push_back({.sizes = json["sizes"].get<Sizes>(),
                            .shapes = json["shapes"],
                            .nbytes = json["bytes"],
                            .flops = json["flops"],
                            .warm = timing_from(json["warm"]),
                            .cold = timing_from(json["cold"]),
                            .num_wrong = json["wrong"],
                            .refusal = json["refusal"]});
  }
  report.is_timed_out = child.is_timed_out;
  if (child.is_timed_out) {
    report.failure = "the time limit was reached";
  } else if (child.signal != 0) {
    report.failure = fmt::format("the handler ends in {}; farcall check tells more",
                                 with_article(signal_text(child.signal)));
  }
  return report;
}

}  // namespace

double BenchCase::share(const Limits& limits) const {
  const double least = std::max(nbytes / limits.bytes_per_second, flops / limits.flops_per_second);
  return cold.median > 0 ? least / cold.median : 0;
}

double count_of(const std::string& expression, const Sizes& sizes) {
  const SizeExpression count(expression, "bench: " + farcall::quoted(expression));
  for (const std::string& letter : count.letters()) {
    if (sizes.contains(letter)) continue;
    throw Failure(kUsage, fmt::format("bench: {}: {} is not a letter of the operands.",
                                      farcall::quoted(expression), letter));
  }
  return count.value(sizes);
}

std::vector<BenchReport> bench(const std::vector<CheckSpec>& specs, const BenchOptions& options) {
  for (const CheckSpec& spec : specs) {
    if (!spec.problem.empty()) continue;
    verify(spec);
    for (const Case& test : sweep(spec, options)) {  // fails before anything runs
      if (!options.flops.empty()) count_of(options.flops, test.sizes);
      if (!options.bytes.empty()) count_of(options.bytes, test.sizes);
    }
  }
  std::vector<BenchReport> reports;
  for (size_t i = 0; i < specs.size(); ++i)
    reports.push_back(bench_one(specs, reference_of(specs, i, options), i, options));
  return reports;
}

Comparison confirmed_comparison(const Json& before, std::vector<BenchReport>& reports,
                                const BenchOptions& options, double tolerance) {
  constexpr int kMostRepetitions = 4;
  Comparison comparison = compare(before, to_json(reports, std::nullopt), tolerance);
  for (int i = 0; i < kMostRepetitions && !comparison.slower_cases.empty(); ++i) {
    for (const auto& [index, test] : comparison.slower_cases) {
      BenchReport& report = reports[index];
      BenchCase& known = report.cases[test];
      CheckSpec spec = report.spec;
      for (const auto& [letter, size] : known.sizes) spec.sizes[letter] = {size};
      const BenchReport again = bench_one({spec}, 0, 0, options);
      if (again.cases.size() != 1 || !again.cases[0].refusal.empty()) continue;
      const BenchCase& found = again.cases[0];
      if (found.warm.median < known.warm.median) known.warm = found.warm;
      if (found.cold.median < known.cold.median) known.cold = found.cold;
    }
    comparison = compare(before, to_json(reports, std::nullopt), tolerance);
  }
  return comparison;
}

}  // namespace farcall::tools
