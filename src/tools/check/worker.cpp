#include "tools/check/worker.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/child.h"

namespace farcall::tools {
namespace {

// Shapes that were not tried by then are left out, but the last one, which is large.
constexpr double kMostSecondsOfCalls = 4.5;

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
  call.prepare(fill);
  return run_prepared(call, pool);
}

Outcome Session::run_prepared(Call& call, ThreadPool* pool) {
  beat();
  shared.num_calls.fetch_add(1, std::memory_order_relaxed);
  shared.data_seed = call.data_seed();
  shared.values = call.values();
  return call.run(pool);
}

double Session::seconds() const { return now_seconds() - shared.begin; }
bool Session::is_late() const { return seconds() > kLateSeconds; }

void Session::beat() { shared.last_call.store(now_seconds(), std::memory_order_relaxed); }

void Session::report(size_t test, const Finding& finding) {
  Json json = {{"finding", finding.kind},
               {"operand", finding.operand},
               {"message", finding.message},
               {"case", test},
               {"data_seed", shared.data_seed.load()},
               {"values", static_cast<int>(shared.values.load())}};
  if (finding.expected.size() <= kMostPrintedBytes) {
    json["result"] = finding.result;
    for (const std::byte byte : finding.expected)
      json["expected"].push_back(static_cast<int>(byte));
  }
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

void Session::succeeded(size_t test, double seconds, uint64_t hash,
                        const std::vector<std::vector<std::byte>>& results) {
  last_seconds = seconds;
  last_nbytes = cases[test].nbytes();
  Json json = {{"ok", test}, {"seconds", seconds}, {"hash", hash}};
  if (last_nbytes <= kMostPrintedBytes) {
    for (const auto& result : results) {
      Json bytes = Json::array();
      for (const std::byte byte : result) bytes.push_back(static_cast<int>(byte));
      json["results"].push_back(std::move(bytes));
    }
  }
  write_all(fd_, json.dump() + "\n");
}

void Session::differs_elsewhere(const std::string& difference) {
  write_all(fd_,
            Json({{"elsewhere", difference}}).dump(-1, ' ', false, Json::error_handler_t::replace) +
                "\n");
}

std::optional<Difference> first_difference(const Session& session, size_t test,
                                           const std::vector<std::vector<std::byte>>& a,
                                           const std::vector<std::vector<std::byte>>& b) {
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

std::optional<Difference> difference_beyond_rounding(const Session& session, size_t test,
                                                     const std::vector<std::vector<std::byte>>& a,
                                                     const std::vector<std::vector<std::byte>>& b) {
  constexpr double kTolerance = 1e-2;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (!is_close(session.cases[test].results[i], a[i], b[i], kTolerance))
      return first_difference(session, test, a, b);
  }
  return std::nullopt;
}

void run_worker(Session& session, const std::vector<Step>& steps, size_t first) {
  signals::install(&session.shared.crash);
  if (steps[first].kind == Step::Kind::kAnotherProcess) {
    occupy_free_memory();
  }
  session.handler = load_handler(session.spec);
  for (size_t i = first; i < steps.size(); ++i) {
    session.shared.step = i;
    session.beat();
    const bool is_extra =
        steps[i].kind == Step::Kind::kThreads || steps[i].kind == Step::Kind::kSomeLeaks;
    if (is_extra && session.is_late()) continue;
    switch (steps[i].kind) {
      case Step::Kind::kCalls:
        if (session.is_too_large(steps[i].test)) break;
        if (session.seconds() < kMostSecondsOfCalls || steps[i].test + 1 == session.cases.size())
          check_calls(session, steps[i].test);
        break;
      case Step::Kind::kThreads:
      case Step::Kind::kFirstCalls:
      case Step::Kind::kFirstCallsAlone:
      case Step::Kind::kStop:
        check_threads(session, steps[i]);
        break;
      case Step::Kind::kInstantiations:
        check_instantiations(session, steps[i].test);
        break;
      case Step::Kind::kFindPlaces:
        find_places(session, steps[i].test);
        break;
      case Step::Kind::kLeaks:
      case Step::Kind::kSomeLeaks:
        check_leaks(session, steps[i]);
        break;
      case Step::Kind::kAnotherProcess:
        check_another_process(session, steps[i].test);
        break;
      case Step::Kind::kSurroundings:
        check_surroundings(session, steps[i]);
        break;
      case Step::Kind::kOtherAttributes:
        check_other_attributes(session, steps[i].test);
        break;
      case Step::Kind::kSpecialValues:
        check_special_values(session, steps[i].test);
        break;
    }
  }
  session.shared.step = steps.size();
}

}  // namespace farcall::tools
