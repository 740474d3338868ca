// Times of handlers over sizes, with their operands in the caches and out of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/bench/limits.h"
#include "tools/check/spec.h"

namespace farcall::tools {

struct BenchOptions {
  double noise = 0.02;          // stop when the median is known to this part of itself,
  double seconds = 0.4;         // or after so long, for each size and each of warm and cold
  double timeout = 300;         // for one handler
  size_t most_bytes = 1 << 26;  // of the operands of the largest size
  std::string flops, bytes;  // of one call, such as "2*N*M"; empty: unknown; those of the operands
  uint64_t seed = 0;
  bool shows_progress = true;
};

// Seconds of one call.
struct Timing {
  double median = 0, low = 0, high = 0;  // low, high: of nine calls in ten
  double noise = 0;                      // half the width of the median's 95 % interval, relative
  size_t count = 0;                      // of samples
};

struct BenchCase {
  Sizes sizes;
  std::string shapes;
  double nbytes = 0;       // read and written by one call
  double flops = 0;        // 0: unknown
  Timing warm, cold;       // the same operands again and again; flushed before each call
  uint64_t num_wrong = 0;  // results that are others than those of the reference
  std::string refusal;     // the handler's error, in place of times
  // The share of the time that memory and arithmetic need at least; of the cold time.
  double share(const Limits& limits) const;
};

struct BenchReport {
  CheckSpec spec;
  std::string reference;  // the handler whose results are right: the first with such operands
  std::vector<BenchCase> cases;
  std::string failure;  // why it could not be run
};

// One report for each handler. Those with the same operands are compared. Raises Failure.
std::vector<BenchReport> bench(const std::vector<CheckSpec>& specs, const BenchOptions& options);

Json to_json(const Timing& timing);
Json to_json(const std::vector<BenchReport>& reports, const std::optional<Limits>& limits);
std::string to_text(const std::vector<BenchReport>& reports, const std::optional<Limits>& limits);

// Times that are longer than those of an earlier JSON by more than the tolerance and the noise of
// both; a line each. Raises Failure for a file that is none of bench's.
struct Comparison {
  std::vector<std::string> slower, lines;
};
Comparison compare(const Json& before, const Json& now, double tolerance);

// "2*N*M+N" with these sizes. Raises Failure(kUsage).
double count_of(const std::string& expression, const Sizes& sizes);

// Draws the times as a picture, .svg or .png, with matplotlib. Raises Failure(kCouldNotRun).
void plot(const Json& json, const std::string& path);

}  // namespace farcall::tools
