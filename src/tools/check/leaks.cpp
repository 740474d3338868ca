// Looks for what a handler keeps from call to call: heap blocks, open files, mappings.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include <farcall/core/error.h>

#include "tools/check/api_table.h"
#include "tools/check/disturbance.h"
#include "tools/check/heap.h"
#include "tools/check/sanitizer.h"
#include "tools/check/worker.h"
#include "tools/child.h"
#include "tools/state_types.h"

namespace farcall::tools {
namespace {

constexpr int kWarmUps = 3;
constexpr int kCycles = 8;

int64_t num_open_files() {
  int64_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

// 0 with a sanitizer, whose allocator maps more and more memory in order not to use it again.
int64_t mapped_pages() {
  static const bool is_known = !sanitizer::is_loaded("address") && !sanitizer::is_loaded("thread");
  if (!is_known) return 0;
  std::ifstream in("/proc/self/statm");
  int64_t pages = 0;
  in >> pages;
  return pages;
}

// Children of this process, also those that have ended and nobody has waited for.
int64_t num_processes() {
  int64_t count = 0;
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    std::ifstream children(task.path() / "children");
    for (pid_t child = 0; children >> child;) ++count;
  }
  return count;
}

uint64_t num_tasks() { return num_tasks_scheduled() + heap::num_threads_started(); }

int64_t num_threads() { return static_cast<int64_t>(other_threads().size()); }

// Whether threads do not end by themselves.
bool stays(int64_t count) {
  for (int i = 0; i < 50; ++i) {
    if (num_threads() < count) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

// Creates a call site, calls it twice, and destroys it. `kept` replaces it where the state of a
// site cannot be deleted. Returns whether the handler accepts the calls.
bool run_cycle(Session& session, size_t test, std::optional<Site>& kept) {
  try {
    std::optional<Site> own;
    std::optional<Site>& site = has_adopted_types() ? kept : own;
    if (!site) site.emplace(session.spec, session.cases[test], session.handler);
    const uint64_t seed = session.cases[test].data_seed(session.options.seed);
    Call call(*site, session.options, seed, Placement::kEnd);
    const bool is_ok = session.run(call, {}).is_ok;
    return session.run(call, {}).is_ok && is_ok;
  } catch (const FfiError&) {
    return false;  // the instantiate stage fails
  }
}

// Calls it twice on a new thread. Returns whether the handler accepts the calls.
bool run_on_thread(Session& session, Call& call) {
  bool is_ok = false;
  std::thread([&] {
    runtime::use_signal_stack();
    is_ok = session.run(call, {}).is_ok && session.run(call, {}).is_ok;
  }).join();
  return is_ok;
}

bool has_blocks(const heap::Leaks& leaks) {
  return std::ranges::none_of(leaks.blocks, [](size_t count) { return count == 0; });
}

// Blocks that all cycles left behind. Tasks that are over may still have to free memory, which
// takes long on a busy machine.
heap::Leaks lasting_leaks(bool has_tasks) {
  heap::Leaks leaks;
  for (int i = 0; i == 0 || (i < (has_tasks ? 50 : 1) && has_blocks(leaks)); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(i < 5 ? 5 : 20));
    leaks = heap::leaks(kCycles);
  }
  return leaks;
}

bool grows(const std::vector<int64_t>& counts) {
  return std::ranges::adjacent_find(counts, std::greater_equal<>()) == counts.end();
}

// What the handler holds after more and more calls. A vector grows only from time to time, so the
// number of calls doubles.
void check_growth(Session& session, size_t test) {
  constexpr int kFirst = 16, kMost = 512, kLeastTimes = 5;
  constexpr int64_t kLeastBytes = 64, kLeastPages = 8;
  constexpr double kMostSeconds = 0.5;
  const Site site(session.spec, session.cases[test], session.handler);
  Call call(site, session.options, session.cases[test].data_seed(session.options.seed),
            Placement::kEnd);
  std::vector<int64_t> bytes, files, pages;
  const auto held_bytes = [] {
    return static_cast<int64_t>(heap::leaks(kCycles + 1).bytes.back());
  };
  const uint64_t tasks_before = num_tasks();
  const double begin = now_seconds();
  heap::set_cycle(kCycles + 1);
  int num_calls = 0;
  for (int wanted = kFirst; wanted <= kMost && now_seconds() - begin < kMostSeconds; wanted *= 2) {
    for (; num_calls < wanted; ++num_calls) {
      if (!session.run(call, {}).is_ok) return heap::set_cycle(0);
    }
    bytes.push_back(held_bytes());
    files.push_back(num_open_files());
    pages.push_back(mapped_pages());
  }
  heap::set_cycle(0);
  // In the last doubling, and in another one of the last four: a vector that had elements before
  // does not grow in each.
  const auto has_grown = [&](const std::vector<int64_t>& counts, int64_t least) {
    if (counts.size() < kLeastTimes) return false;
    int times = 0;
    for (size_t i = counts.size() - kLeastTimes + 1; i < counts.size(); ++i)
      times += counts[i] - counts[i - 1] >= least;
    return times >= 2 && counts.back() - counts[counts.size() - 2] >= least;
  };
  // See lasting_leaks.
  for (int i = 0; num_tasks() != tasks_before && i < 50 && has_grown(bytes, kLeastBytes); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    bytes.back() = held_bytes();
  }
  if (has_grown(bytes, kLeastBytes)) {
    session.report(test,
                   {"leak", "heap",
                    fmt::format("calls hold more and more of the heap: {} bytes after {} "
                                "calls of one executable, {} bytes after {}",
                                bytes[bytes.size() - 2], num_calls / 2, bytes.back(), num_calls),
                    heap::leaks(kCycles + 1).stack});
  } else if (has_grown(files, 1)) {
    session.report(test, {"leak", "files", "some calls leave a file open", {}});
  } else if (has_grown(pages, kLeastPages)) {
    session.report(test, {"leak", "mappings", "some calls leave memory mapped", {}});
  }
}

// What the handler keeps for each thread that calls it.
void check_thread_leaks(Session& session, size_t test) {
  const Site site(session.spec, session.cases[test], session.handler);
  Call call(site, session.options, session.cases[test].data_seed(session.options.seed),
            Placement::kEnd);
  for (int cycle = 1 - kWarmUps; cycle <= kCycles; ++cycle) {
    heap::set_cycle(std::max(cycle, 0));
    const bool is_ok = run_on_thread(session, call);
    heap::set_cycle(0);
    if (!is_ok) return;
  }
  const heap::Leaks leaks = lasting_leaks(false);
  if (!has_blocks(leaks)) return;
  session.report(test, {"leak", "heap",
                        fmt::format("every thread that calls the handler, and ends, leaves {} "
                                    "block{} ({} bytes) of the heap behind",
                                    leaks.blocks.back(), leaks.blocks.back() == 1 ? "" : "s",
                                    leaks.bytes.back()),
                        leaks.stack});
}

}  // namespace

void check_leaks(Session& session, const Step& step) {
  const size_t test = step.test;
  std::optional<Site> kept;
  std::vector<int64_t> files, pages, threads, processes;
  bool is_ok = true;
  const uint64_t tasks_before = num_tasks();
  for (int cycle = 1 - kWarmUps; cycle <= kCycles; ++cycle) {
    heap::set_cycle(std::max(cycle, 0));
    is_ok &= run_cycle(session, test, kept);
    heap::set_cycle(0);
    if (cycle < 0) continue;
    files.push_back(num_open_files());
    pages.push_back(mapped_pages());
    threads.push_back(num_threads());
    processes.push_back(num_processes());
  }
  if (grows(processes)) {
    session.report(test, {"leak", "processes", "every call leaves a process behind", {}});
    return;
  }
  if (grows(threads) && stays(threads.back())) {
    session.report(test, {"leak", "threads", "every call leaves a thread running", {}});
    return;
  }
  const heap::Leaks leaks = lasting_leaks(num_tasks() != tasks_before);
  if (has_blocks(leaks)) {
    session.report(
        test,
        {"leak", "heap",
         fmt::format("every {} {}calls leave{} {} block{} ({} bytes) of the heap behind",
                     kept ? "two" : "executable with two", is_ok ? "" : "failing ", kept ? "" : "s",
                     leaks.blocks.back(), leaks.blocks.back() == 1 ? "" : "s", leaks.bytes.back()),
         leaks.stack});
  } else if (grows(files)) {
    session.report(test, {"leak", "files", "every call leaves a file open", {}});
  } else if (grows(pages)) {
    session.report(test, {"leak",
                          "mappings",
                          fmt::format("every call leaves memory mapped ({} pages in two calls)",
                                      pages.back() - pages[pages.size() - 2]),
                          {}});
  } else if (is_ok && step.kind == Step::Kind::kLeaks) {
    if (!session.is_late()) check_thread_leaks(session, test);
    if (!session.is_late()) check_growth(session, test);
  }
}

}  // namespace farcall::tools
