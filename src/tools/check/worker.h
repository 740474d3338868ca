// The process in which a handler is called. It writes what it finds as lines of JSON; how far it
// is, and why it died, lies in memory that it shares with its parent.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "tools/check/call.h"
#include "tools/check/signals.h"

namespace farcall::tools {

struct Shared {
  std::atomic<uint64_t> num_calls;
  std::atomic<double> last_call;  // when the last call began; 0: the library is being loaded
  std::atomic<size_t> step;
  signals::Crash crash;
};

struct Step {
  enum class Kind : uint8_t { kCalls, kThreads, kLeaks, kAnotherProcess };
  Kind kind;
  size_t test;  // number of the case
};

struct Finding {
  std::string kind;
  std::string operand;  // empty where it is none's
  std::string message;
  std::vector<runtime::StackFrame> stack;
};

// Where the checks of one process report to, and what they read.
class Session {
 public:
  Session(const CheckSpec& spec, const CheckOptions& options, const std::vector<Case>& cases,
          Shared& shared, int fd)
      : spec(spec), options(options), cases(cases), shared(shared), fd_(fd) {}

  const CheckSpec& spec;
  const CheckOptions& options;
  const std::vector<Case>& cases;
  Shared& shared;
  LoadedHandler handler;
  double last_seconds = 0;  // of the last call that went well, and its size
  size_t last_nbytes = 0;

  Outcome run(Call& call, const Fill& fill, ThreadPool* pool = nullptr);
  void beat();
  void report(size_t test, const Finding& finding);
  void refused(size_t test, const std::string& message);
  // A handler may take time of the square of its operands' size.
  bool is_too_large(size_t test) const;
  void succeeded(size_t test, double seconds, uint64_t hash);

 private:
  int fd_;
};

// Runs the steps from `first` on, then ends. Made in a child process.
void run_worker(Session& session, const std::vector<Step>& steps, size_t first);

// The steps' own functions.
void check_calls(Session& session, size_t test);
void check_threads(Session& session, size_t test);
void check_leaks(Session& session, size_t test);

// "result 0" and where the first difference is; empty when there is none.
struct Difference {
  size_t result;
  size_t element;
  std::string operand, place;
};
std::optional<Difference> first_difference(const Session& session, size_t test,
                                           const std::vector<std::vector<std::byte>>& a,
                                           const std::vector<std::vector<std::byte>>& b);

}  // namespace farcall::tools
