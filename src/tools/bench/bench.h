// Measures the times of handlers over sizes, with operands in the caches and out of them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/bench/limits.h"
#include "tools/check/spec.h"

namespace farcall::tools {

struct BenchOptions {
  double noise = 0.02;          // stop when the median's relative error is at most this,
  double seconds = 0.4;         // or after this many seconds, per size, warm and cold
  double timeout = 300;         // for one handler
  size_t most_bytes = 1 << 26;  // of the operands of the largest size
  std::string flops, bytes;     // per call, such as "2*N*M"; empty: unknown; the operands' bytes
  uint64_t seed = 0;
  bool shows_progress = true;
};

// Seconds of one call.
struct Timing {
  double median = 0, low = 0, high = 0;  // low and high enclose nine of ten calls
  double noise = 0;                      // relative half width of the median's 95 % interval
  size_t count = 0;                      // number of samples
};

struct BenchCase {
  Sizes sizes;
  std::string shapes;
  double nbytes = 0;       // read and written by one call
  double flops = 0;        // 0: unknown
  Timing warm, cold;       // same operands in every call; caches flushed before each call
  uint64_t num_wrong = 0;  // results that differ from the reference's
  std::string refusal;     // the handler's error, if it was not timed
  // The least time that memory and arithmetic need, as a share of the cold time.
  double share(const Limits& limits) const;
};

struct BenchReport {
  CheckSpec spec;
  std::string reference;  // the handler that defines right results; may be this one
  std::vector<BenchCase> cases;
  std::string failure;  // why it could not be run
  bool is_timed_out = false;
};

// Returns one report per handler. Compares handlers that have the same operands. Raises Failure.
std::vector<BenchReport> bench(const std::vector<CheckSpec>& specs, const BenchOptions& options);

Json to_json(const Timing& timing);
Json to_json(const std::vector<BenchReport>& reports, const std::optional<Limits>& limits);
std::string to_text(const std::vector<BenchReport>& reports, const std::optional<Limits>& limits);

// The times that exceed those of an earlier JSON by more than the tolerance and the noise of both,
// one line each. Raises Failure if the JSON is not bench's.
struct Comparison {
  std::vector<std::string> slower, lines;
  std::vector<std::pair<size_t, size_t>> slower_cases;  // report and case
};
Comparison compare(const Json& before, const Json& now, double tolerance);

// The same, but times that exceed the earlier ones are measured again, in new processes: a process
// may be slow as a whole, by the placement of its memory for instance, and its own noise does not
// show that. Stores the shortest times in `reports`.
Comparison confirmed_comparison(const Json& before, std::vector<BenchReport>& reports,
                                const BenchOptions& options, double tolerance);

// The value of an expression such as "2*N*M+N" for these sizes. Raises Failure(kUsage).
double count_of(const std::string& expression, const Sizes& sizes);

// Plots the times to a .svg or .png file with matplotlib. Raises Failure(kCouldNotRun).
void plot(const Json& json, const std::string& path);

}  // namespace farcall::tools
