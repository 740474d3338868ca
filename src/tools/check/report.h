// The result of checking one handler, as JSON and as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/check/cases.h"
#include "tools/check/data.h"
#include "tools/check/spec.h"

namespace farcall::tools {

inline constexpr std::string_view kFindingKinds[] = {"oob-write",
                                                     "oob-read",
                                                     "input-write",
                                                     "unwritten-result",
                                                     "uninitialised-read",
                                                     "nondeterministic",
                                                     "race",
                                                     "leak",
                                                     "alias",
                                                     "layout",
                                                     "crash",
                                                     "abort",
                                                     "timeout",
                                                     "exception",
                                                     "silent-error",
                                                     "wrong-result"};

// Larger arrays are not written out in tests.
inline constexpr size_t kMostPrintedBytes = 4096;

struct CheckFinding {
  std::string kind, operand, message;
  Case test;
  std::vector<std::string> stack;
  uint64_t data_seed = 0;  // of the arguments
  Values values = Values::kUsual;
  size_t result = 0;                     // the result that `expected` is about
  std::vector<std::byte> expected = {};  // its correct bytes, in its layout; empty if not known
  size_t num_cases = 1;                  // that have this finding
  bool is_undefined_behaviour = false;   // reported by that sanitizer
};

struct CheckReport {
  CheckSpec spec;
  uint64_t seed = 0;
  size_t num_calls = 0;
  size_t num_shapes = 0, num_refused = 0;
  std::string refusal;  // the first error
  std::string failure;  // why the handler could not run at all
  bool is_timed_out = false;
  double seconds = 0;
  std::vector<CheckFinding> findings;

  std::string verdict() const;  // "clean", "findings", "could-not-run"
  int exit_code() const;
};

Json to_json(const CheckReport& report);
std::string to_text(const CheckReport& report);

// A command, a C++ test and a Python test that repeat the call of a finding.
std::string command_for(const CheckReport& report, const CheckFinding& finding);
std::string cpp_test(const CheckReport& report, const CheckFinding& finding);
std::string python_test(const CheckReport& report, const CheckFinding& finding);

}  // namespace farcall::tools
