// Checks one shape by calls one after the other.
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <map>

#include <fmt/format.h>

#include <farcall/core/error.h>

#include "tools/check/api_table.h"
#include "tools/check/disturbance.h"
#include "tools/check/heap.h"
#include "tools/check/outcome_text.h"
#include "tools/check/process_state.h"
#include "tools/check/reference.h"
#include "tools/check/worker.h"
#include "tools/child.h"
#include "tools/failure.h"

namespace farcall::tools {
namespace {

using Bytes = std::vector<std::vector<std::byte>>;

// For how long a call is repeated to let the handler's threads race, in seconds, also of the
// processors' time, which passes more slowly on a busy machine; but no longer than the second.
constexpr double kMeetingSeconds = 0.1, kMostMeetingSeconds = 0.6;
// After so many seconds, calls are repeated less often.
constexpr double kSecondsOfThoroughCalls = 2.5;
// With more threads than these, too.
constexpr size_t kManyThreads = 100;
// Cases of which more is looked at: the first ones, with small operands.
constexpr size_t kMostShort = 8;

// Of all threads of this process.
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

uint64_t hash_of(const Bytes& results) {
  uint64_t hash = 14695981039346656037u;
  for (const auto& result : results) {
    for (const std::byte byte : result)
      hash = (hash ^ static_cast<uint64_t>(byte)) * 1099511628211u;
  }
  return hash;
}

class Calls {
 public:
  Calls(Session& session, size_t test)
      : session_(session), index_(test), test_(session.cases[test]) {}

  void run() {
    std::optional<Site> site;
    try {
      site.emplace(session_.spec, test_, session_.handler);
    } catch (const FfiError& error) {
      return refuse({.code = error.code(), .message = error.detail()});
    }
    Call call(*site, session_.options, data_seed(), Placement::kEnd);
    const Outcome outcome = run_first(call);
    if (!outcome.is_ok) return refuse(outcome, *site);
    session_.succeeded(index_, outcome.seconds, hash_of(first_), first_);
    if (is_repeatable(call) && look_for_what_was_not_written(call) &&
        !session_.spec.aliases.empty())
      check_alias(*site);
    check_reference(call);
    if (is_slow_) return;
    Call other(*site, session_.options, data_seed(), Placement::kBegin);
    const Outcome elsewhere = run(other, {});
    if (!elsewhere.is_ok) return compare_refusals(*site, elsewhere.message, Placement::kBegin);
    if (!has_findings_) compare_placements(call, other);
    if (has_findings_ || index_ >= kMostShort) return;
    check_bools();
    check_number_of_threads(call);
    check_after_other_values();
  }

  // Special values may make a sound handler fail, loop or vary: only accesses to wrong memory
  // count, and results that differ from those of a reference.
  void run_special() {
    try {
      const Site site(session_.spec, test_, session_.handler);
      for (const Placement placement : {Placement::kEnd, Placement::kBegin}) {
        Call call(site, session_.options, data_seed(), placement, Aliasing::kAsTold,
                  Values::kSpecial);
        const Outcome outcome = run(call, {}, nullptr, kWithSpecialValues);
        if (!outcome.is_ok || has_findings_) continue;
        first_ = call.results();
        check_reference(call, kWithSpecialValues);
      }
    } catch (const FfiError&) {
      return;
    }
  }

  // Computes results that the parent compares with those of another process, in which everything
  // has other addresses.
  void run_elsewhere() {
    try {
      const Site site(session_.spec, test_, session_.handler);
      // What a handler keeps of the first call of a size, it keeps of other values here.
      Call call(site, session_.options, ~data_seed(), Placement::kEnd);
      if (!run(call, {}).is_ok) return;
      call.set_values(data_seed());
      const Outcome outcome = run_first(call);
      if (outcome.is_ok && is_repeatable(call))
        session_.succeeded(index_, outcome.seconds, hash_of(first_), first_);
    } catch (const FfiError&) {
      return;  // the first process has reported it
    }
  }

 private:
  Outcome run_first(Call& call) {
    const uint64_t tasks = num_tasks_scheduled() + heap::num_threads_started();
    const ProcessState state;
    Outcome outcome = run(call, {});
    report_change(state.restore());
    report_change(session_.files.restore());
    const size_t num_others = other_threads().size();
    uses_threads_ = num_tasks_scheduled() + heap::num_threads_started() != tasks || num_others > 0;
    // Threads that calls leave behind make all others slower.
    is_slow_call_ = outcome.seconds > 0.1 || num_others > kManyThreads;
    is_slow_ = is_slow_call_ || session_.seconds() > kSecondsOfThoroughCalls;
    first_ = call.results();
    return outcome;
  }

  uint64_t data_seed() const { return test_.data_seed(session_.options.seed); }

  Outcome run(Call& call, const Fill& fill, ThreadPool* pool = nullptr,
              std::string_view remark = "") {
    Outcome outcome = session_.run(call, fill, pool);
    if (!outcome.changed_mode.empty()) report_change(outcome.changed_mode + " changed");
    if (const auto& overflow = outcome.heap_overflow) {
      has_findings_ = true;
      session_.report(
          index_, {"oob-write", "heap",
                   fmt::format("writes past the end of a block of the heap, at byte offset {} of "
                               "{} bytes; the block is freed here",
                               overflow->offset, overflow->nbytes),
                   overflow->stack});
    }
    if (!outcome.damaged) return outcome;
    const bool is_before = outcome.damage_offset < 0;
    report("oob-write", outcome.damaged->to_string(),
           fmt::format("writes {} {}, at byte offset {} of {} bytes{}",
                       is_before ? "before the beginning of" : "past the end of",
                       outcome.damaged->to_string(), outcome.damage_offset, outcome.damaged_bytes,
                       remark));
    return outcome;
  }

  void report(std::string kind, std::string operand, std::string message) {
    has_findings_ = true;
    session_.report(index_, {std::move(kind), std::move(operand), std::move(message), {}});
  }

  void report_change(const std::string& what) {
    if (what.empty()) return;
    report("nondeterministic", "",
           fmt::format("the handler leaves {}: results of later computations depend on "
                       "whether it has run",
                       what));
  }

  void refuse(const Outcome& outcome, const Site& site) {
    refuse(outcome);
    if (!has_findings_) compare_refusals(site, outcome.message, Placement::kEnd);
  }

  // Of a call that the handler refuses with operands in this place, with this message. Looks
  // whether it accepts it with operands in another place.
  void compare_refusals(const Site& site, const std::string& message, Placement refused) {
    // Operands without bytes are null in one of them.
    const auto is_empty = [](const ShapeDtype& type) { return type.nbytes() == 0; };
    if (std::ranges::any_of(test_.arguments, is_empty) ||
        std::ranges::any_of(test_.results, is_empty))
      return;
    const Placement accepted = refused == Placement::kEnd ? Placement::kBegin : Placement::kEnd;
    for (int i = 0; i < 2; ++i) {
      Call good(site, session_.options, data_seed(), accepted);
      Call bad(site, session_.options, data_seed(), refused);
      if (!run(good, {}).is_ok || run(bad, {}).is_ok) return;
    }
    report("nondeterministic", "",
           fmt::format("the handler refuses operands at some addresses, and accepts the same ones "
                       "at others, all aligned to {} bytes: {}",
                       session_.options.alignment, message));
  }

  void refuse(const Outcome& outcome) {
    if (const std::string exception = leaving_exception(outcome, session_.spec.symbol);
        !exception.empty()) {
      session_.report(
          index_, {"exception", "", fmt::format("an exception leaves the handler: {}", exception),
                   heap::exception_stack()});
    } else if (outcome.message.find("the promise was dropped") != std::string::npos) {
      report("timeout", "",
             "the promise of the call's future is dropped, and neither fulfilled nor failed");
    } else if (outcome.code == ErrorCode::kOk) {
      report("silent-error", "", "returns an error with the code OK");
    } else if (is_silent(outcome, session_.spec.symbol)) {
      report("silent-error", "",
             fmt::format("returns the error {} without a message", error_code_name(outcome.code)));
    }
    session_.refused(index_, fmt::format("{}: {}", error_code_name(outcome.code), outcome.message));
  }

  // Whether the same call gives the same bits again. Gives the handler's threads time to race.
  bool is_repeatable(Call& call) {
    // Threads that the handler keeps meet in long calls only.
    const bool is_meeting = index_ < 3 || index_ + 1 == session_.cases.size();
    const bool is_long = uses_threads_ && !is_slow_call_ && is_meeting;
    std::optional<Disturbance> disturbance;
    if (is_long) disturbance.emplace(session_.options.seed);
    const int times = is_long ? 40 : is_slow_ ? 1 : 4;
    const double begin = now_seconds(), begin_of_work = processor_seconds();
    const auto is_over = [&] {
      const double passed = now_seconds() - begin;
      const bool has_worked = processor_seconds() - begin_of_work > kMeetingSeconds;
      return passed > (has_worked ? kMeetingSeconds : kMostMeetingSeconds);
    };
    for (int i = 0; i < times || (is_long && !is_over()); ++i) {
      const Outcome outcome = run(call, {});
      if (!outcome.is_ok) {
        report("nondeterministic", "",
               fmt::format("succeeds, then fails when called again with the same operands: {}",
                           outcome.message));
        return false;
      }
      const Bytes again = call.results();
      const auto difference = first_difference(session_, index_, first_, again);
      if (!difference) continue;
      disturbance.reset();
      report_varying(call, *difference, again);
      return false;
    }
    return true;
  }

  // Reports a result that differed between calls with the same operands.
  void report_varying(Call& call, const Difference& difference, const Bytes& again) {
    const size_t result = difference.result;
    const bool is_rounding = is_close(test_.results[result], first_[result], again[result], 1e-3);
    if (uses_threads_ && !is_rounding && is_repeatable_on_one_thread(call)) {
      report("race", difference.operand,
             fmt::format("{} differs from call to call at {}, and not when its tasks run one "
                         "after the other",
                         difference.operand, difference.place));
    } else {
      report("nondeterministic", difference.operand,
             fmt::format("{} differs from call to call with the same operands, at {}",
                         difference.operand, difference.place));
    }
  }

  bool is_repeatable_on_one_thread(Call& call) {
    std::vector<pid_t> threads = other_threads();
    threads.push_back(0);  // this one
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof(all), &all);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    const auto run_on = [&](const cpu_set_t& processors, int policy) {
      const sched_param no_priority = {};
      for (const pid_t thread : threads) {
        sched_setaffinity(thread, sizeof(processors), &processors);
        sched_setscheduler(thread, policy, &no_priority);
      }
    };
    // With this policy, a new thread does not preempt the thread that started it.
    run_on(one, SCHED_BATCH);
    ThreadPool pool(1);
    // On a busy machine some calls may be preempted: a majority of equal results is enough.
    std::map<uint64_t, int> counts;
    int most = 0, num_calls = 0;
    for (; num_calls < 24 && (most < 6 || most * 3 < num_calls * 2); ++num_calls) {
      run(call, {}, &pool);
      most = std::max(most, ++counts[hash_of(call.results())]);
    }
    run_on(all, SCHED_OTHER);
    return most * 3 >= num_calls * 2;
  }

  // Fills uninitialized memory in several ways: results that change depend on it, and elements that
  // keep the pattern were not written. Returns false if results vary by themselves.
  bool look_for_what_was_not_written(Call& call) {
    const uint64_t seed = session_.options.seed + 11;
    Fill random;
    random.results = {Pattern::Kind::kRandom, seed};
    const Fill others = {.results = {Pattern::Kind::kComplement, seed},
                         .scratch = {Pattern::Kind::kRandom, seed + 1},
                         .zones = {Pattern::Kind::kComplement, 1},
                         .heap_byte = 0x3c,
                         .stack_byte = 0x3c,
                         .has_other_time = true};
    // A flag that is not zero is the same in all patterns but this one.
    const Fill zeros = {.results = {Pattern::Kind::kZeros, 0},
                        .scratch = {Pattern::Kind::kZeros, 0},
                        .heap_byte = 0,
                        .stack_byte = 0};
    const std::vector<Fill> fills = {random, others, zeros};
    std::vector<Bytes> again;
    for (const Fill& fill : fills) {
      run(call, fill);
      again.push_back(call.results());
    }
    for (size_t i = 0; i < first_.size(); ++i) {
      unwritten_.emplace_back(first_[i].size());
      find_unwritten(call, i, seed * 64 + i, again[0][i], again[1][i]);
    }
    for (const Bytes& results : again) {
      const auto difference = difference_of_written(results);
      if (!difference) continue;
      // The difference may be a rare variation between calls.
      if (!is_repeatable(call)) return false;
      if (!find_dependence(call, fills)) {
        report_varying(call, *difference, results);
        return false;
      }
      return true;
    }
    return true;
  }

  // Reports the memory on which the results depend. Returns false if chance explains the
  // difference.
  bool find_dependence(Call& call, const std::vector<Fill>& fills) {
    for (const Fill& fill : fills) {
      Fill results;
      results.results = fill.results;
      const auto difference = changes(call, results);
      if (!difference) continue;
      report("uninitialised-read", difference->operand,
             fmt::format("{} at {} depends on what the result held before the call",
                         difference->operand, difference->place));
      return true;
    }
    for (Fill others : fills) {
      others.results = {};
      const auto difference = changes(call, others);
      if (!difference) continue;
      attribute(call, others, *difference);
      return true;
    }
    return false;
  }

  // Marks and reports unwritten elements; `second` held random bytes before the call, `third` their
  // complement. A complex element has two parts.
  void find_unwritten(Call& call, size_t result, uint64_t seed,
                      const std::vector<std::byte>& second, const std::vector<std::byte>& third) {
    if (call.is_aliased(result)) return;
    const ShapeDtype& type = test_.results[result];
    const size_t width = byte_width(type.dtype());
    const size_t part = is_complex(type.dtype()) ? width / 2 : width;
    std::vector<std::byte> random(type.nbytes()), complement(type.nbytes()),
        ones(part, std::byte{0xff});
    fill(random, {Pattern::Kind::kRandom, seed});
    fill(complement, {Pattern::Kind::kComplement, seed});
    size_t count = 0, first_at = 0, last_element = 0;
    for (size_t at = 0; at < type.nbytes(); at += part) {
      const bool is_unwritten = std::memcmp(&first_[result][at], ones.data(), part) == 0 &&
                                std::memcmp(&second[at], &random[at], part) == 0 &&
                                std::memcmp(&third[at], &complement[at], part) == 0;
      if (!is_unwritten) continue;
      if (count == 0) first_at = at;
      if (count == 0 || at / width != last_element) ++count;
      last_element = at / width;
      std::memcpy(&unwritten_[result][at], ones.data(), part);
    }
    if (count == 0) return;
    report("unwritten-result", fmt::format("result {}", result),
           fmt::format(
               "{} of {} elements of result {} are not {}written, the first at {} (byte offset {})",
               count, type.size(), result, part == width ? "" : "completely ",
               element_position(type, session_.spec.results[result].layout, first_at / width),
               first_at));
  }

  // Ignores the elements that are reported as unwritten: those have all bits set in the first
  // results.
  std::optional<Difference> difference_of_written(Bytes results) const {
    for (size_t i = 0; i < unwritten_.size(); ++i) {
      for (size_t at = 0; at < unwritten_[i].size(); ++at) results[i][at] |= unwritten_[i][at];
    }
    return first_difference(session_, index_, first_, results);
  }

  // The difference of results with this fill, if they differ with it and only with it, so often
  // that chance does not explain it.
  std::optional<Difference> changes(Call& call, const Fill& fill) {
    std::optional<Difference> found;
    const auto difference_with = [&](const Fill& used) {
      run(call, used);
      return difference_of_written(call.results());
    };
    for (int i = 0; i < (is_slow_ ? 2 : 6); ++i) {
      found = difference_with(fill);
      if (!found || difference_with({})) return std::nullopt;
    }
    return found;
  }

  // Reports which memory the results depend on.
  void attribute(Call& call, const Fill& all, const Difference& difference) {
    const std::string what =
        fmt::format("{} at {} depends on", difference.operand, difference.place);
    const size_t num_arguments = test_.arguments.size();
    for (size_t i = 0; i < num_arguments + test_.results.size(); ++i) {
      Fill zones;
      zones.zones = all.zones;
      zones.operand_of_zones = static_cast<int>(i);
      if (!changes(call, zones)) continue;
      const bool is_argument = i < num_arguments;
      const std::string name = fmt::format("{} {}", is_argument ? "argument" : "result",
                                           is_argument ? i : i - num_arguments);
      report("oob-read", name, fmt::format("{} memory beside {}", what, name));
      return;
    }
    Fill scratch, heap_fill, stack, time;
    scratch.scratch = all.scratch;
    heap_fill.heap_byte = all.heap_byte;
    stack.stack_byte = all.stack_byte;
    time.has_other_time = all.has_other_time;
    if (changes(call, scratch))
      return report("uninitialised-read", "scratch", what + " scratch memory that was not written");
    if (changes(call, heap_fill))
      return report("uninitialised-read", "heap",
                    what + " allocated memory that was not written, or was freed");
    if (changes(call, stack))
      return report("uninitialised-read", "stack", what + " a variable that was not initialized");
    if (changes(call, time))
      return report("nondeterministic", difference.operand, what + " the time of the call");
    report("uninitialised-read", difference.operand, what + " memory that was not written");
  }

  // Results must be the same whether or not they share the argument's memory.
  void check_alias(const Site& site) {
    Call separate(site, session_.options, data_seed(), Placement::kEnd, Aliasing::kSeparate);
    if (!run(separate, {}).is_ok) return;
    Bytes results = separate.results();
    for (const auto& [argument, result] : session_.spec.aliases) {
      // The handler may also write through the argument: in a program that is the same memory.
      const auto written = separate.argument(argument);
      if (std::ranges::equal(written, first_[result])) results[result] = first_[result];
    }
    if (const auto difference = first_difference(session_, index_, first_, results)) {
      report("alias", difference->operand,
             fmt::format("{} at {} differs when it lies in the memory of its argument: values are "
                         "read after they were written over",
                         difference->operand, difference->place));
    }
  }

  std::optional<Difference> difference_beyond_rounding(const Bytes& results) const {
    return tools::difference_beyond_rounding(session_, index_, first_, results);
  }

  // Programs take the byte of a bool for a number.
  void check_bools() {
    for (size_t i = 0; i < first_.size(); ++i) {
      if (test_.results[i].dtype() != DType::kBool) continue;
      const auto odd =
          std::ranges::find_if(first_[i], [](std::byte b) { return b > std::byte{1}; });
      if (odd == first_[i].end()) continue;
      const auto at = static_cast<size_t>(odd - first_[i].begin());
      return report(
          "wrong-result", fmt::format("result {}", i),
          fmt::format("result {} at {} is the byte {}; a bool is 0 or 1", i,
                      element_position(test_.results[i], session_.spec.results[i].layout, at),
                      static_cast<int>(*odd)));
    }
  }

  // Partial sums of more threads may differ by rounding.
  void check_number_of_threads(Call& call) {
    ThreadPool larger(ThreadPool::shared().num_threads() + 3);
    for (int i = 0; i < 2; ++i) {
      if (!run(call, {}, &larger).is_ok) return;
      const auto difference = difference_beyond_rounding(call.results());
      if (!difference || !is_repeatable(call)) return;
      if (i == 0) continue;
      report("nondeterministic", difference->operand,
             fmt::format("{} differs at {} when the thread pool has {} threads, not {}",
                         difference->operand, difference->place, larger.num_threads(),
                         ThreadPool::shared().num_threads()));
    }
  }

  // What a handler keeps from a call, in its state or for an address, must not reach the next one.
  void check_after_other_values() {
    for (int i = 0; i < 2; ++i) {
      std::optional<Site> site;
      try {
        site.emplace(session_.spec, test_, session_.handler);
      } catch (const FfiError&) {
        return;
      }
      Call call(*site, session_.options, ~data_seed(), Placement::kEnd);
      if (!run(call, {}).is_ok) return;
      call.set_values(data_seed());
      if (!run(call, {}).is_ok) return;
      const auto difference = difference_beyond_rounding(call.results());
      if (!difference || has_findings_) return;
      if (i == 0) continue;
      report("nondeterministic", difference->operand,
             fmt::format("{} differs at {} after a call with other values in the same memory",
                         difference->operand, difference->place));
    }
  }

  // Operands at the beginning of a page and at another multiple of their alignment. Results may
  // differ by rounding, because vector code may add in another order.
  void compare_placements(Call& call, Call& other) {
    const Bytes results = other.results();
    const auto difference = difference_beyond_rounding(results);
    if (!difference || !is_repeatable(call) || !run(other, {}).is_ok || other.results() != results)
      return;
    report("nondeterministic", difference->operand,
           fmt::format("{} depends on the addresses of the operands: it differs at {} when all of "
                       "them are aligned to pages and lie in another order",
                       difference->operand, difference->place));
  }

  void check_reference(Call& call, std::string_view remark = "") {
    if (session_.spec.reference.empty()) return;
    Bytes expected;
    try {
      expected = results_of_reference(session_, test_, call, true);
    } catch (const Failure&) {
      if (remark.empty()) throw;
      session_.shared.is_reference = false;
      return;  // the reference refuses special values
    }
    for (size_t i = 0; i < expected.size(); ++i) {
      const ShapeDtype& type = test_.results[i];
      if (is_close(type, to_row_major(first_[i], type, session_.spec.results[i].layout),
                   expected[i], 1e-3))
        continue;
      const auto ignored = results_of_reference(session_, test_, call, false);
      const bool is_layout = ignored.size() > i && is_close(type, first_[i], ignored[i], 1e-3);
      const std::string name = fmt::format("result {}", i);
      std::string message = is_layout
                                ? fmt::format(
                                      "{} is right only if all operands are row-major: the handler "
                                      "ignores the layouts of its operands",
                                      name)
                                : fmt::format("{} differs from the result of the reference {}",
                                              name, session_.spec.reference);
      message += remark;
      session_.report(
          index_, {.kind = is_layout ? "layout" : "wrong-result",
                   .operand = name,
                   .message = message,
                   .stack = {},
                   .result = i,
                   .expected = from_row_major(expected[i], type, session_.spec.results[i].layout)});
      return;
    }
  }

  Session& session_;
  size_t index_;
  const Case& test_;
  Bytes first_;
  Bytes unwritten_;  // all bits set where a result is not written
  bool has_findings_ = false;
  bool uses_threads_ = false;
  bool is_slow_call_ = false, is_slow_ = false;
};

}  // namespace

void check_calls(Session& session, size_t test) { Calls(session, test).run(); }

void check_special_values(Session& session, size_t test) { Calls(session, test).run_special(); }

void check_another_process(Session& session, size_t test) { Calls(session, test).run_elsewhere(); }

}  // namespace farcall::tools
