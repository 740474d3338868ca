// Calls the handler on several threads at once, each with its own operands. Results must be the
// same as those of a call alone.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include <farcall/core/error.h>

#include "tools/check/disturbance.h"
#include "tools/check/worker.h"
#include "tools/child.h"

namespace farcall::tools {
namespace {

constexpr double kSeconds = 0.15;

using Bytes = std::vector<std::vector<std::byte>>;

struct Caller {
  std::unique_ptr<Call> call;
  Bytes wanted;
};

class Race {
 public:
  Race(Session& session, size_t test, std::vector<Caller>& callers)
      : session_(session), test_(test), callers_(callers) {}

  void run() {
    const double end = now_seconds() + kSeconds;
    std::vector<std::thread> threads;
    const Disturbance disturbance(session_.options.seed);
    session_.shared.is_concurrent = true;
    for (Caller& caller : callers_) threads.emplace_back([&] { repeat(caller, end); });
    for (std::thread& thread : threads) thread.join();
    session_.shared.is_concurrent = false;
    if (finding_) session_.report(test_, *finding_);
  }

 private:
  void repeat(Caller& caller, double end) {
    runtime::use_signal_stack();
    while (!is_over_ && now_seconds() < end) {
      const Outcome outcome = session_.run(*caller.call, {});
      if (!outcome.is_ok)
        return found(
            "", fmt::format("fails when several threads call it at once: {}", outcome.message));
      const Bytes results = caller.call->results();
      const auto difference = first_difference(session_, test_, caller.wanted, results);
      if (!difference) continue;
      const ShapeDtype& type = session_.cases[test_].results[difference->result];
      if (is_close(type, caller.wanted[difference->result], results[difference->result], 1e-4))
        continue;
      return found(difference->operand,
                   fmt::format("{} at {} is wrong when {} threads call the handler at once",
                               difference->operand, difference->place, callers_.size()));
    }
  }

  void found(const std::string& operand, const std::string& message) {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    if (!finding_) finding_ = Finding{"race", operand, message, {}};
  }

  Session& session_;
  size_t test_;
  std::vector<Caller>& callers_;
  std::atomic<bool> is_over_{false};
  std::mutex mutex_;
  std::optional<Finding> finding_;
};

}  // namespace

void check_threads(Session& session, size_t test) {
  try {
    const Site site(session.spec, session.cases[test], session.handler);
    std::vector<Caller> callers(static_cast<size_t>(std::max(2, session.options.num_threads)));
    for (size_t i = 0; i < callers.size(); ++i) {
      Caller& caller = callers[i];
      caller.call = std::make_unique<Call>(site, session.options,
                                           session.options.seed * 1000 + 500 + i, Placement::kEnd);
      if (!session.run(*caller.call, {}).is_ok) return;
      caller.wanted = caller.call->results();
      // A handler whose results vary by themselves says nothing about threads.
      session.run(*caller.call, {});
      if (first_difference(session, test, caller.wanted, caller.call->results())) return;
    }
    Race(session, test, callers).run();
  } catch (const FfiError&) {
    return;  // check_calls() has reported it
  }
}

}  // namespace farcall::tools
