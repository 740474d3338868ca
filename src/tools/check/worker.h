// The process that calls a handler. It writes its findings as lines of JSON. Its progress, and why
// it died, are in memory shared with the parent process.
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/check/call.h"
#include "tools/check/process_state.h"
#include "tools/check/report.h"
#include "tools/check/signals.h"

namespace farcall::tools {

struct Shared {
  double begin;  // of the checks
  std::atomic<uint64_t> num_calls;
  std::atomic<double> last_call;  // start of the last call; 0: the library is being loaded
  std::atomic<size_t> step;
  std::atomic<bool> is_concurrent;  // several threads call the handler
  std::atomic<bool> is_reference;   // the reference is running, not the handler
  std::atomic<uint64_t> data_seed;  // of the last call's arguments
  std::atomic<Values> values;
  std::atomic<double> seconds_of_first_call;  // of the thread that stops in it
  std::atomic<size_t> num_places;             // of the first call, see PlaceFinder
  std::array<uint32_t, 4096> places;
  signals::Crash crash;
};

struct Step {
  enum class Kind : uint8_t {
    kCalls,
    kSpecialValues,
    kAnotherProcess,
    kLeaks,
    kSomeLeaks,  // of every call alone, not of threads or of many calls
    kThreads,
    kFirstCalls,       // the first calls of a process, on several threads at once
    kFirstCallsAlone,  // the same calls, one after the other
    kInstantiations,   // executables made on several threads at once
    kFindPlaces,       // at which a first call can stop
    kStop,             // a first call stops at `place` while others are made
    kSurroundings,     // other environment variables, another directory and so on
    kOtherAttributes   // a call with other attributes before
  };
  Kind kind;
  size_t test;                            // number of the case
  std::optional<size_t> other_test = {};  // for every second thread
  uint8_t changed = 0;                    // of the surroundings
  // Of kFirstCalls: the first thread stops so many seconds after its call's beginning while the
  // others make theirs. 0: no thread stops.
  double pause_after = 0;
  uint32_t place = 0;
};

// Slow handlers are looked at less closely from this time on, so that the command ends soon.
inline constexpr double kLateSeconds = 7;

// Added to the messages of findings with special values.
inline constexpr std::string_view kWithSpecialValues =
    "; with nan, infinities or negative integers in the arguments";

struct Finding {
  std::string kind;
  std::string operand;  // empty if the finding concerns no operand
  std::string message;
  std::vector<runtime::StackFrame> stack;
  size_t result = 0;                     // the result that `expected` is about
  std::vector<std::byte> expected = {};  // its correct bytes in the handler's layout, if known
};

// Inputs of the checks of one process, and where they report to.
class Session {
 public:
  Session(const CheckSpec& spec, const CheckOptions& options, const std::vector<Case>& cases,
          Shared& shared, int fd)
      : spec(spec), options(options), cases(cases), shared(shared), fd_(fd) {}

  const CheckSpec& spec;
  const CheckOptions& options;
  const std::vector<Case>& cases;
  Shared& shared;
  const OpenFiles files;
  LoadedHandler handler;
  // Results of the step's case in another process.
  std::vector<std::vector<std::byte>> known;
  double last_seconds = 0;  // of the last successful call, and its size
  size_t last_nbytes = 0;

  Outcome run(Call& call, const Fill& fill, ThreadPool* pool = nullptr);
  Outcome run_prepared(Call& call, ThreadPool* pool = nullptr);
  void beat();
  double seconds() const;  // since the checks began
  bool is_late() const;
  void report(size_t test, const Finding& finding);
  void refused(size_t test, const std::string& message);
  // Assumes that a handler's time may grow with the square of its operands' size.
  bool is_too_large(size_t test) const;
  void succeeded(size_t test, double seconds, uint64_t hash,
                 const std::vector<std::vector<std::byte>>& results);
  // The difference of results in other surroundings; empty if there is none.
  void differs_elsewhere(const std::string& difference);

 private:
  int fd_;
};

// Runs the steps from `first` on, then ends the process. Call it in a child process.
void run_worker(Session& session, const std::vector<Step>& steps, size_t first);

// The functions of the steps.
void check_calls(Session& session, size_t test);
void check_special_values(Session& session, size_t test);
void check_another_process(Session& session, size_t test);
void check_surroundings(Session& session, const Step& step);
void check_other_attributes(Session& session, size_t test);
void check_threads(Session& session, const Step& step);
void check_instantiations(Session& session, size_t test);
void find_places(Session& session, size_t test);
void check_leaks(Session& session, const Step& step);

// The operand ("result 0") and position of the first difference; nullopt if there is none.
struct Difference {
  size_t result;
  size_t element;
  std::string operand, place;
};
std::optional<Difference> first_difference(const Session& session, size_t test,
                                           const std::vector<std::vector<std::byte>>& a,
                                           const std::vector<std::vector<std::byte>>& b);

// The same for results that differ by more than rounding.
std::optional<Difference> difference_beyond_rounding(const Session& session, size_t test,
                                                     const std::vector<std::vector<std::byte>>& a,
                                                     const std::vector<std::vector<std::byte>>& b);

}  // namespace farcall::tools
