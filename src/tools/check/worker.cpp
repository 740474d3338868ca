#include "tools/check/worker.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <farcall/core/error.h>

#include "tools/check/api_table.h"
#include "tools/check/disturbance.h"
#include "tools/check/heap.h"
#include "tools/child.h"
#include "tools/failure.h"
#include "tools/python.h"

namespace farcall::tools {
namespace {

using Bytes = std::vector<std::vector<std::byte>>;

// For how long a call is repeated to let the handler's threads race, in seconds.
constexpr double kMeetingSeconds = 0.1;

uint64_t hash_of(const Bytes& results) {
  uint64_t hash = 14695981039346656037u;
  for (const auto& result : results) {
    for (const std::byte byte : result)
      hash = (hash ^ static_cast<uint64_t>(byte)) * 1099511628211u;
  }
  return hash;
}

std::string without_prefix(const std::string& message, const std::string& symbol) {
  std::string_view text = message;
  if (text.starts_with(symbol)) text.remove_prefix(symbol.size());
  while (!text.empty() && (text.front() == ':' || text.front() == ' ')) text.remove_prefix(1);
  return std::string(text);
}

// Checks one shape by calls one after the other.
class Calls {
 public:
  Calls(Session& session, size_t test)
      : session_(session), index_(test), test_(session.cases[test]) {}

  void run() {
    std::optional<Site> site;
    try {
      site.emplace(session_.spec, test_, session_.handler);
    } catch (const FfiError& error) {
      refuse({.code = error.code(), .message = error.detail()});
      return;
    }
    Call call(*site, session_.options, data_seed(), Placement::kEnd);
    const Outcome outcome = run_first(call);
    if (!outcome.is_ok) return refuse(outcome);
    session_.succeeded(index_, outcome.seconds, hash_of(first_));
    if (is_repeatable(call) && look_for_what_was_not_written(call) &&
        !session_.spec.aliases.empty())
      check_alias(*site);
    check_reference(call);
    if (is_slow_) return;
    Call other(*site, session_.options, data_seed(), Placement::kBegin);
    run(other, {});
  }

  // Computes results that the parent compares with those of another process, in which everything
  // has other addresses.
  void run_elsewhere() {
    try {
      const Site site(session_.spec, test_, session_.handler);
      Call call(site, session_.options, data_seed(), Placement::kEnd);
      const Outcome outcome = run_first(call);
      if (outcome.is_ok && is_repeatable(call))
        session_.succeeded(index_, outcome.seconds, hash_of(first_));
    } catch (const FfiError&) {
      return;  // the first process has reported it
    }
  }

 private:
  Outcome run_first(Call& call) {
    const uint64_t tasks = num_tasks_scheduled() + heap::num_threads_started();
    Outcome outcome = run(call, {});
    uses_threads_ = num_tasks_scheduled() + heap::num_threads_started() != tasks;
    is_slow_ = outcome.seconds > 0.1;
    first_ = call.results();
    return outcome;
  }

  uint64_t data_seed() const { return session_.options.seed * 1000 + index_; }

  Outcome run(Call& call, const Fill& fill, ThreadPool* pool = nullptr) {
    Outcome outcome = session_.run(call, fill, pool);
    if (!outcome.damaged) return outcome;
    const bool is_before = outcome.damage_offset < 0;
    report("oob-write", outcome.damaged->to_string(),
           fmt::format("writes {} {}, at byte offset {} of {} bytes",
                       is_before ? "before the beginning of" : "past the end of",
                       outcome.damaged->to_string(), outcome.damage_offset, outcome.damaged_bytes));
    return outcome;
  }

  void report(std::string kind, std::string operand, std::string message) {
    session_.report(index_, {std::move(kind), std::move(operand), std::move(message), {}});
  }

  void refuse(const Outcome& outcome) {
    std::string exception = outcome.exception;
    const std::string& last = heap::last_exception();
    if (exception.empty() && outcome.code == ErrorCode::kInternal && !last.empty() &&
        outcome.message.ends_with(last))
      exception = last;
    if (!exception.empty()) {
      session_.report(
          index_, {"exception", "", fmt::format("an exception leaves the handler: {}", exception),
                   heap::exception_stack()});
    } else if (outcome.code == ErrorCode::kOk) {
      report("silent-error", "", "returns an error with the code OK");
    } else if (without_prefix(outcome.message, session_.spec.symbol).empty()) {
      report("silent-error", "",
             fmt::format("returns the error {} without a message", error_code_name(outcome.code)));
    }
    session_.refused(index_, fmt::format("{}: {}", error_code_name(outcome.code), outcome.message));
  }

  // Whether the same call gives the same bits again. Gives the handler's threads time to race.
  bool is_repeatable(Call& call) {
    const bool is_long = uses_threads_ && !is_slow_ && index_ < 3;
    std::optional<Disturbance> disturbance;
    if (is_long) disturbance.emplace(session_.options.seed);
    const int times = is_slow_ ? 1 : is_long ? 40 : 4;
    const double end = is_long ? now_seconds() + kMeetingSeconds : 0;
    for (int i = 0; i < times || now_seconds() < end; ++i) {
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
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof(all), &all);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof(one), &one);
    // With this policy, a new thread does not preempt the thread that started it.
    const sched_param no_priority = {};
    sched_setscheduler(0, SCHED_BATCH, &no_priority);
    ThreadPool pool(1);
    // On a busy machine some calls may be preempted: a majority of equal results is enough.
    std::map<uint64_t, int> counts;
    int most = 0, num_calls = 0;
    for (; num_calls < 24 && (most < 6 || most * 3 < num_calls * 2); ++num_calls) {
      run(call, {}, &pool);
      most = std::max(most, ++counts[hash_of(call.results())]);
    }
    sched_setscheduler(0, SCHED_OTHER, &no_priority);
    sched_setaffinity(0, sizeof(all), &all);
    return most * 3 >= num_calls * 2;
  }

  // Fills uninitialised memory in several ways: results that change depend on it, and elements that
  // keep the pattern were not written. Returns false if results vary by themselves.
  bool look_for_what_was_not_written(Call& call) {
    const uint64_t seed = session_.options.seed + 11;
    Fill random, all;
    random.results = {Pattern::Kind::kRandom, seed};
    all = {.results = {Pattern::Kind::kComplement, seed},
           .scratch = {Pattern::Kind::kRandom, seed + 1},
           .zones = {Pattern::Kind::kComplement, 1},
           .heap_byte = 0x3c,
           .stack_byte = 0x3c};
    run(call, random);
    Bytes second = call.results();
    run(call, all);
    Bytes third = call.results();
    for (size_t i = 0; i < first_.size(); ++i)
      find_unwritten(call, i, seed * 64 + i, second, third);
    const auto by_result = first_difference(session_, index_, first_, second);
    const auto by_others = first_difference(session_, index_, first_, third);
    if (!by_result && !by_others) return true;
    // The difference may be a rare variation between calls.
    if (!is_repeatable(call)) return false;
    if (by_result && changes(call, random)) {
      report("uninitialised-read", by_result->operand,
             fmt::format("{} at {} depends on what the result held before the call",
                         by_result->operand, by_result->place));
      return true;
    }
    all.results = {};
    if (by_others && changes(call, all)) {
      attribute(call, all, *by_others);
      return true;
    }
    report_varying(call, by_result ? *by_result : *by_others, by_result ? second : third);
    return false;
  }

  // Makes unwritten elements equal in all three results, so that they are reported only once.
  void find_unwritten(Call& call, size_t result, uint64_t seed, Bytes& second, Bytes& third) {
    if (call.is_aliased(result)) return;
    const ShapeDtype& type = test_.results[result];
    const size_t width = byte_width(type.dtype());
    std::vector<std::byte> random(type.nbytes()), complement(type.nbytes()),
        ones(width, std::byte{0xff});
    fill(random, {Pattern::Kind::kRandom, seed});
    fill(complement, {Pattern::Kind::kComplement, seed});
    size_t count = 0, first_at = 0;
    for (size_t at = 0; at < type.nbytes(); at += width) {
      const bool is_unwritten = std::memcmp(&first_[result][at], ones.data(), width) == 0 &&
                                std::memcmp(&second[result][at], &random[at], width) == 0 &&
                                std::memcmp(&third[result][at], &complement[at], width) == 0;
      if (!is_unwritten) continue;
      if (count++ == 0) first_at = at;
      std::memcpy(&second[result][at], ones.data(), width);
      std::memcpy(&third[result][at], ones.data(), width);
    }
    if (count == 0) return;
    report("unwritten-result", fmt::format("result {}", result),
           fmt::format(
               "{} of {} elements of result {} are not written, the first at {} (byte offset {})",
               count, type.size(), result,
               element_position(type, session_.spec.results[result].layout, first_at / width),
               first_at));
  }

  // Whether results differ with this fill and only with it, so often that chance does not explain
  // it.
  bool changes(Call& call, const Fill& fill) {
    const auto is_other = [&](const Fill& used) {
      run(call, used);
      return first_difference(session_, index_, first_, call.results()).has_value();
    };
    for (int i = 0; i < (is_slow_ ? 2 : 6); ++i) {
      if (!is_other(fill) || is_other({})) return false;
    }
    return true;
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
    Fill scratch, heap_fill, stack;
    scratch.scratch = all.scratch;
    heap_fill.heap_byte = all.heap_byte;
    stack.stack_byte = all.stack_byte;
    if (changes(call, scratch))
      return report("uninitialised-read", "scratch", what + " scratch memory that was not written");
    if (changes(call, heap_fill))
      return report("uninitialised-read", "heap", what + " allocated memory that was not written");
    if (changes(call, stack))
      return report("uninitialised-read", "stack", what + " a variable that was not initialised");
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

  void check_reference(Call& call) {
    if (session_.spec.reference.empty()) return;
    const auto expected = by_reference(call, true);
    for (size_t i = 0; i < expected.size(); ++i) {
      const ShapeDtype& type = test_.results[i];
      if (is_close(type, to_row_major(first_[i], type, session_.spec.results[i].layout),
                   expected[i], 1e-3))
        continue;
      const auto ignored = by_reference(call, false);
      const bool is_layout = ignored.size() > i && is_close(type, first_[i], ignored[i], 1e-3);
      const std::string name = fmt::format("result {}", i);
      report(is_layout ? "layout" : "wrong-result", name,
             is_layout ? fmt::format("{} is right only if all operands are row-major: the handler "
                                     "ignores the layouts of its operands",
                                     name)
                       : fmt::format("{} differs from the result of the reference {}", name,
                                     session_.spec.reference));
      return;
    }
  }

  // Results of the reference, for operands in row-major order, or in the order of memory.
  Bytes by_reference(Call& call, bool in_order) {
    Bytes inputs, results;
    std::vector<RawBuffer> arguments, outputs;
    for (size_t i = 0; i < test_.arguments.size(); ++i) {
      inputs.push_back(in_order ? to_row_major(call.input(i), test_.arguments[i],
                                               session_.spec.arguments[i].layout)
                                : call.input(i));
      arguments.push_back({test_.arguments[i], inputs.back().data()});
    }
    for (const ShapeDtype& type : test_.results) {
      results.emplace_back(type.nbytes());
      outputs.push_back({type, results.back().data()});
    }
    session_.beat();
    if (!session_.handler.reference) {
      const std::string problem =
          call_python(session_.spec.reference, arguments, outputs, session_.handler.attributes);
      if (!problem.empty())
        throw Failure(kCouldNotRun,
                      fmt::format("the reference {} fails for {}: {}", session_.spec.reference,
                                  test_.to_string(), problem));
      return results;
    }
    try {
      call_target(session_.handler.reference, arguments, outputs, session_.handler.attributes);
    } catch (const Error& error) {
      throw Failure(kCouldNotRun,
                    fmt::format("the reference {} fails for {}: {}", session_.spec.reference,
                                test_.to_string(), error.message()));
    }
    return results;
  }

  Session& session_;
  size_t index_;
  const Case& test_;
  Bytes first_;
  bool uses_threads_ = false;
  bool is_slow_ = false;
};

// Uses up small blocks and gaps between mappings, so that what is loaded and allocated from now on
// has other addresses than in a process that does not do this.
void occupy_free_memory() {
  for (size_t nbytes = 4096; nbytes <= size_t{1} << 23; nbytes *= 2) {
    for (int i = 0; i < 16; ++i) {
      (void)mmap(nullptr, nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
  }
  static std::vector<std::unique_ptr<char[]>> blocks;
  for (size_t nbytes = 16; nbytes <= 4096; nbytes += 16) {
    for (int i = 0; i < 12; ++i) blocks.emplace_back(new char[nbytes]);
  }
}

}  // namespace

Outcome Session::run(Call& call, const Fill& fill, ThreadPool* pool) {
  beat();
  shared.num_calls.fetch_add(1, std::memory_order_relaxed);
  return call.run(fill, pool);
}

void Session::beat() { shared.last_call.store(now_seconds(), std::memory_order_relaxed); }

void Session::report(size_t test, const Finding& finding) {
  Json json = {{"finding", finding.kind},
               {"operand", finding.operand},
               {"message", finding.message},
               {"case", test}};
  for (const runtime::StackFrame& frame : finding.stack)
    json["stack"].push_back({frame.library, frame.symbol, frame.offset});
  write_all(fd_, json.dump() + "\n");
}

void Session::refused(size_t test, const std::string& message) {
  write_all(fd_, Json({{"refused", test}, {"message", message}})
                         .dump(-1, ' ', false, Json::error_handler_t::replace) +
                     "\n");
}

bool Session::is_too_large(size_t test) const {
  if (last_nbytes == 0) return false;
  const double ratio = static_cast<double>(cases[test].nbytes()) / static_cast<double>(last_nbytes);
  return ratio > 1 && last_seconds * ratio * ratio > options.call_timeout / 2;
}

void Session::succeeded(size_t test, double seconds, uint64_t hash) {
  last_seconds = seconds;
  last_nbytes = cases[test].nbytes();
  write_all(fd_, Json({{"ok", test}, {"seconds", seconds}, {"hash", hash}}).dump() + "\n");
}

std::optional<Difference> first_difference(const Session& session, size_t test, const Bytes& a,
                                           const Bytes& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    const auto [at, other] = std::ranges::mismatch(a[i], b[i]);
    if (at == a[i].end()) continue;
    const ShapeDtype& type = session.cases[test].results[i];
    const auto byte = static_cast<size_t>(at - a[i].begin());
    const size_t element = byte / byte_width(type.dtype());
    return Difference{.result = i,
                      .element = element,
                      .operand = fmt::format("result {}", i),
                      .place = fmt::format(
                          "{} (byte offset {})",
                          element_position(type, session.spec.results[i].layout, element), byte)};
  }
  return std::nullopt;
}

void check_calls(Session& session, size_t test) { Calls(session, test).run(); }

void run_worker(Session& session, const std::vector<Step>& steps, size_t first) {
  signals::install(&session.shared.crash);
  if (steps[first].kind == Step::Kind::kAnotherProcess) {
    occupy_free_memory();
  }
  session.handler = load_handler(session.spec);
  for (size_t i = first; i < steps.size(); ++i) {
    session.shared.step = i;
    session.beat();
    switch (steps[i].kind) {
      case Step::Kind::kCalls:
        if (!session.is_too_large(steps[i].test)) check_calls(session, steps[i].test);
        break;
      case Step::Kind::kThreads:
        check_threads(session, steps[i].test);
        break;
      case Step::Kind::kLeaks:
        check_leaks(session, steps[i].test);
        break;
      case Step::Kind::kAnotherProcess:
        Calls(session, steps[i].test).run_elsewhere();
        break;
    }
  }
  session.shared.step = steps.size();
}

}  // namespace farcall::tools
