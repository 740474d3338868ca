// Calls the handler on several threads at once, each with its own operands. Results must be the
// same as those of a call alone.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include <farcall/core/error.h>

#include "tools/check/disturbance.h"
#include "tools/check/stops.h"
#include "tools/check/worker.h"
#include "tools/child.h"

namespace farcall::tools {
namespace {

constexpr double kSeconds = 0.15, kMostSeconds = 1;
constexpr int kLeastCalls = 20;  // of each thread
constexpr const char* kInstantiateAtOnce = "make executables of the handler";

using Bytes = std::vector<std::vector<std::byte>>;

struct Caller {
  size_t test;
  std::unique_ptr<Call> call;
  Bytes wanted;
  Bytes first;               // results of the first call
  std::string failure = {};  // of the first call
};

class Race {
 public:
  // The threads' calls are of these tests in turn; there are `num_threads` calls. With
  // `makes_sites_at_once`, there is one test, and each caller's executable is made on its thread.
  // Raises FfiError if the instantiate stage fails.
  Race(Session& session, const std::vector<size_t>& tests, size_t num_threads,
       bool makes_sites_at_once = false)
      : session_(session) {
    if (makes_sites_at_once) make_sites_at_once(tests.front(), num_threads);
    for (const size_t test : tests) {
      if (makes_sites_at_once) break;
      const bool is_known = !sites_.empty() && &sites_.back()->test() == &session.cases[test];
      sites_.push_back(
          is_known ? sites_.back()
                   : std::make_shared<Site>(session.spec, session.cases[test], session.handler));
    }
    for (size_t i = 0; i < num_threads; ++i) {
      const uint64_t seed = session.options.seed * 1000 + 500 + i;
      callers_.push_back({.test = tests[i % tests.size()],
                          .call = std::make_unique<Call>(*sites_[i % sites_.size()],
                                                         session.options, seed, Placement::kEnd),
                          .wanted = {},
                          .first = {}});
    }
  }

  // Makes the calls one after the other. Returns false if one fails, or if its results vary by
  // themselves: that says nothing about threads.
  bool call_alone() {
    for (Caller& caller : callers_) {
      if (!session_.run(*caller.call, {}).is_ok) return false;
      caller.wanted = caller.call->results();
      session_.run(*caller.call, {});
      if (first_difference(session_, caller.test, caller.wanted, caller.call->results()))
        return false;
    }
    // A handler may round differently while its own threads are busy.
    tolerance_ = other_threads().empty() ? 0 : 1e-4;
    return true;
  }

  // After call_alone(). Whether a call gives the same results on another thread; reports the
  // difference, which says nothing about calls at once.
  bool is_same_on_another_thread() {
    Caller& caller = callers_.front();
    std::optional<Difference> difference;
    for (int i = 0; i < 2; ++i) {
      std::thread([&] {
        runtime::use_signal_stack();
        session_.run(*caller.call, {});
      }).join();
      difference =
          difference_beyond_rounding(session_, caller.test, caller.wanted, caller.call->results());
      if (!difference) return true;
    }
    found(caller.test, "nondeterministic", difference->operand,
          fmt::format("{} at {} depends on the thread that calls the handler", difference->operand,
                      difference->place));
    return false;
  }

  // Makes the calls on all threads, again and again.
  void repeat_at_once() {
    repeat([&](Caller& caller, bool is_interrupted) {
      const Outcome outcome = run(caller, is_interrupted);
      return outcome.is_ok ? compare(caller, caller.call->results())
                           : fail(caller, outcome.message);
    });
  }

  // The same with an executable of its own for each call.
  void instantiate_at_once() {
    at_once_ = kInstantiateAtOnce;
    repeat([&](Caller& caller, bool is_interrupted) {
      try {
        const auto site = make_site(caller.test, is_interrupted);
        Call call(*site, session_.options, caller.call->data_seed(), Placement::kEnd);
        const Outcome outcome = session_.run(call, {});
        return outcome.is_ok ? compare(caller, call.results()) : fail(caller, outcome.message);
      } catch (const FfiError& error) {
        return fail(caller, error.what());
      }
    });
  }

  // Makes each call once, all of them at the same time.
  void call_at_once() {
    prepare_all();
    std::atomic<size_t> num_ready{0};
    on_threads([&](Caller& caller) {
      ++num_ready;
      while (num_ready < callers_.size()) {
      }
      call_first(caller);
    });
  }
  // Makes each call once: the first one stops so many seconds after its beginning, and goes on when
  // the others, one after the other, have ended.
  void call_during_a_pause(double seconds) {
    Meeting meeting;
    meet(meeting, [&](Caller& caller) {
      const Pause pause(seconds, meeting);
      call_first(caller);
      session_.shared.seconds_of_first_call = pause.seconds_since_start();
    });
  }
  // The same at a place in the code.
  void call_during_a_stop(uint32_t place) {
    static Meeting meeting;
    meet(meeting, [&](Caller& caller) {
      stop_at(session_.handler.address, place, [] { meeting.wait(); });
      call_first(caller);
    });
  }
  // After call_alone().
  void compare_first_calls() {
    for (Caller& caller : callers_) {
      if (caller.failure.empty()) {
        compare(caller, caller.first);
      } else {
        fail(caller, caller.failure);
      }
    }
  }

  void report() {
    if (finding_) session_.report(test_of_finding_, *finding_);
  }

 private:
  std::shared_ptr<Site> make_site(size_t test, bool is_interrupted) {
    session_.beat();
    std::optional<Interruptions> interruptions;
    if (is_interrupted) interruptions.emplace(session_.shared.num_calls);
    return std::make_shared<Site>(session_.spec, session_.cases[test], session_.handler);
  }

  void make_sites_at_once(size_t test, size_t num_threads) {
    make_site(test, /*is_interrupted=*/false);  // which registers types of state
    sites_.resize(num_threads);
    std::vector<std::exception_ptr> failures(num_threads);
    std::vector<std::thread> threads;
    std::atomic<size_t> num_ready{0};
    session_.shared.is_concurrent = true;
    for (size_t i = 0; i < num_threads; ++i) {
      threads.emplace_back([&, i] {
        runtime::use_signal_stack();
        ++num_ready;
        while (num_ready < num_threads) std::this_thread::yield();
        try {
          sites_[i] = make_site(test, /*is_interrupted=*/i % 2 == 0);
        } catch (const FfiError&) {
          failures[i] = std::current_exception();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    session_.shared.is_concurrent = false;
    for (const std::exception_ptr& failure : failures) {
      if (failure) std::rethrow_exception(failure);
    }
  }

  // Each thread works until one is wrong, or all have met often enough.
  template <typename Work>
  void repeat(const Work& work) {
    const double begin = now_seconds();
    const Disturbance disturbance(session_.options.seed);
    on_threads([&](Caller& caller) {
      // On a busy machine, threads may need longer to meet.
      const auto is_enough = [&](int num_calls) {
        const double seconds = now_seconds() - begin;
        return seconds > kSeconds && (num_calls >= kLeastCalls || seconds > kMostSeconds);
      };
      for (int i = 0; !is_over_ && !is_enough(i); ++i) {
        if (!work(caller, /*is_interrupted=*/i % 2 == 1)) is_over_ = true;
      }
    });
  }

  Outcome run(Caller& caller, bool is_interrupted) {
    caller.call->prepare({});
    std::optional<Interruptions> interruptions;
    if (is_interrupted) interruptions.emplace(session_.shared.num_calls);
    return session_.run_prepared(*caller.call);
  }

  void prepare_all() {
    for (Caller& caller : callers_) caller.call->prepare({});
  }

  void call_first(Caller& caller) {
    const Outcome outcome = session_.run_prepared(*caller.call);
    if (!outcome.is_ok) caller.failure = outcome.message.empty() ? "no message" : outcome.message;
    caller.first = caller.call->results();
  }

  // The first caller does `first`, and the others make their calls when it has stopped.
  template <typename First>
  void meet(Meeting& meeting, const First& first) {
    prepare_all();
    std::atomic<size_t> num_ended{0};
    on_threads([&](Caller& caller) {
      const auto index = static_cast<size_t>(&caller - callers_.data());
      if (index == 0) {
        first(caller);
        meeting.has_begun = true;  // it may have ended before
        return;
      }
      while (!meeting.has_begun) sleep_a_moment();
      while (num_ended < index - 1 && !meeting.is_over) sleep_a_moment();
      meeting.caller = thread_id();
      call_first(caller);
      meeting.caller = 0;
      if (++num_ended == callers_.size() - 1) meeting.is_over = true;
    });
  }

  template <typename Work>
  void on_threads(const Work& work) {
    std::vector<std::thread> threads;
    session_.shared.is_concurrent = true;
    for (Caller& caller : callers_) {
      threads.emplace_back([&] {
        runtime::use_signal_stack();
        work(caller);
      });
    }
    for (std::thread& thread : threads) thread.join();
    session_.shared.is_concurrent = false;
  }

  bool compare(const Caller& caller, const Bytes& results) {
    const auto difference = first_difference(session_, caller.test, caller.wanted, results);
    if (!difference) return true;
    const ShapeDtype& type = session_.cases[caller.test].results[difference->result];
    if (tolerance_ > 0 &&
        is_close(type, caller.wanted[difference->result], results[difference->result], tolerance_))
      return true;
    found(caller.test, "race", difference->operand,
          fmt::format("{} at {} is wrong when {} threads {} at once", difference->operand,
                      difference->place, callers_.size(), at_once_));
    return false;
  }

  bool fail(const Caller& caller, const std::string& message) {
    found(caller.test, "race", "",
          fmt::format("fails when several threads {} at once: {}", at_once_, message));
    return false;
  }

  void found(size_t test, const std::string& kind, const std::string& operand,
             const std::string& message) {
    const std::lock_guard lock(mutex_);
    if (finding_) return;
    test_of_finding_ = test;
    finding_ = Finding{kind, operand, message, {}};
  }

  Session& session_;
  std::vector<std::shared_ptr<Site>> sites_;  // of the tests
  std::vector<Caller> callers_;
  double tolerance_ = 0;
  const char* at_once_ = "call the handler";
  std::atomic<bool> is_over_{false};
  std::mutex mutex_;
  std::optional<Finding> finding_;
  size_t test_of_finding_ = 0;
};

}  // namespace

void check_threads(Session& session, const Step& step) {
  using Kind = Step::Kind;
  // One executable's calls meet with each other, then with those of another size.
  const size_t same = step.kind == Kind::kStop ? 2 : 1;
  std::vector<size_t> tests(same, step.test);
  if (step.other_test) tests.push_back(*step.other_test);
  const auto num_threads = static_cast<size_t>(std::max(2, session.options.num_threads));
  try {
    Race race(session, tests, step.kind == Kind::kStop ? tests.size() : num_threads);
    switch (step.kind) {
      case Kind::kFirstCalls:
        if (step.pause_after > 0) {
          race.call_during_a_pause(step.pause_after);
        } else {
          race.call_at_once();
        }
        if (race.call_alone()) race.compare_first_calls();
        break;
      case Kind::kStop:
        race.call_during_a_stop(step.place);
        if (race.call_alone()) race.compare_first_calls();
        break;
      case Kind::kFirstCallsAlone:
        race.call_alone();
        break;
      default:
        if (race.call_alone() && race.is_same_on_another_thread()) race.repeat_at_once();
    }
    race.report();
  } catch (const FfiError&) {
    return;  // check_calls() has reported it
  }
}

void check_instantiations(Session& session, size_t test) {
  const auto num_threads = static_cast<size_t>(std::max(2, session.options.num_threads));
  try {
    Race race(session, {test}, num_threads, /*makes_sites_at_once=*/true);
    if (race.call_alone()) race.instantiate_at_once();
    race.report();
  } catch (const FfiError& error) {
    // Alone, the stage succeeded before.
    session.report(test, {"race",
                          "",
                          fmt::format("fails when several threads {} at once: {}",
                                      kInstantiateAtOnce, error.what()),
                          {}});
  }
}

void find_places(Session& session, size_t test) {
  try {
    const Site site(session.spec, session.cases[test], session.handler);
    Call call(site, session.options, session.options.seed, Placement::kEnd);
    call.prepare({});
    const PlaceFinder finder(session.handler.address, session.shared.places,
                             session.shared.num_places);
    session.run_prepared(call);
  } catch (const FfiError&) {
    return;
  }
}

}  // namespace farcall::tools
