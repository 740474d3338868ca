#include "tools/check/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <new>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <farcall/core/demangle.h>

#include "tools/check/crash_text.h"
#include "tools/check/sanitizer.h"
#include "tools/check/surroundings.h"
#include "tools/check/worker.h"
#include "tools/child.h"
#include "tools/elf_file.h"
#include "tools/failure.h"
#include "tools/python.h"
#include "tools/terminal.h"

namespace farcall::tools {
namespace {

constexpr double kLoadSeconds = 60;
constexpr int kMostCrashes = 8;
// Of one list of steps, and of all.
constexpr int kMostTimeouts = 2, kMostTimeoutsOfAll = 3;
// Processes whose first calls are concurrent: with all threads at once; with a stop of one thread
// at a place in its code; without such places, with a pause of one thread. The limits are for slow
// libraries and handlers; processor time does not depend on the load.
constexpr unsigned kStartsAtOnce = 4, kMostStops = 200, kMostPauses = 40;
constexpr int kInstantiationsAtOnce = 3;  // processes that make executables on all threads at once
constexpr double kProcessorSecondsOfStarts = 1, kMostSecondsOfStarts = 4;
constexpr double kSecondsForSmallerRace = 2.5;
// What the progress line shows after the parts of the work.
constexpr double kCallsDone = 0.5, kLeaksDone = 0.7, kStartsDone = 0.9;
// A sleep of 20 ms that takes longer than this shows that the machine stood still, in seconds.
constexpr double kLongPause = 0.2;

class Supervisor {
 public:
  Supervisor(const CheckSpec& spec, const CheckOptions& options)
      : spec_(spec),
        options_(options),
        cases_(make_cases(spec)),
        progress_(options.shows_progress),
        begin_(now_seconds()) {
    void* memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Failure(kCouldNotRun, "there is not enough memory.");
    shared_ = new (memory) Shared{};
    shared_->begin = begin_;
    errors_fd_ = memfd_create("errors", MFD_CLOEXEC);
    fcntl(errors_fd_, F_SETFL, O_APPEND);
    report_.spec = spec;
    report_.seed = options.seed;
  }
  ~Supervisor() {
    close(errors_fd_);
    munmap(shared_, sizeof(Shared));
  }
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  CheckReport run() {
    std::vector<Step> steps;
    for (size_t i = 0; i < cases_.size(); ++i) steps.push_back({Step::Kind::kCalls, i});
    begin_part(kCallsDone);
    run_steps(steps);
    if (succeeded_.empty() && report_.failure.empty() && report_.findings.empty() &&
        !report_.is_timed_out) {
      report_.failure = cases_.empty() ? why_no_cases(spec_)
                        : refused_.empty()
                            ? "the process that ran the handler did not report: does the handler "
                              "close files that it did not open?"
                            : fmt::format("the handler refuses every call: {}", report_.refusal);
    }
    if (!succeeded_.empty() && report_.failure.empty()) run_later();
    report_.num_shapes = cases_.size();
    report_.num_refused = refused_.size();
    report_.num_calls = shared_->num_calls;
    report_.seconds = now_seconds() - begin_;
    progress_.clear();
    drop_consequences();
    keep_wanted_kinds();
    return report_;
  }

 private:
  // ---- what is done ----

  void run_later() {
    std::vector<Step> steps;
    std::vector<size_t> tests;
    for (const auto& [test, result] : succeeded_) tests.push_back(test);
    // In another order, so that results which depend on earlier calls differ too.
    for (size_t i = std::min<size_t>(4, tests.size()); i > 0; --i)
      steps.push_back({Step::Kind::kAnotherProcess, tests[i - 1]});
    const size_t first = tests[0];
    const auto by_size = [&](size_t a, size_t b) {
      return cases_[a].nbytes() < cases_[b].nbytes();
    };
    std::ranges::sort(tests, by_size);
    const size_t middle = tests[tests.size() / 2], small = tests[tests.size() / 5];
    // Threads must overlap inside the handler, so the calls should not be short.
    const auto found =
        std::ranges::find_if(tests, [&](size_t t) { return cases_[t].nbytes() > (1 << 16); });
    const size_t large = found == tests.end() ? tests.back() : *found;
    steps.push_back({Step::Kind::kLeaks, middle});
    if (!refused_.empty()) steps.push_back({Step::Kind::kLeaks, refused_[refused_.size() / 2]});
    // Calls without elements, odd and even sizes, and large ones may take other ways.
    for (const size_t i : {size_t{0}, size_t{1}, size_t{2}, tests.size() / 2 + 1, tests.size() - 1})
      if (i < tests.size()) steps.push_back({Step::Kind::kSomeLeaks, tests[i]});
    // Reads of uninitialized memory make results differ between threads too.
    const bool is_steady = std::ranges::none_of(report_.findings, [](const CheckFinding& f) {
      return f.kind == "uninitialised-read" || f.kind == "nondeterministic";
    });
    if (is_steady) {
      steps.push_back({Step::Kind::kThreads, large});
      steps.push_back({Step::Kind::kThreads, middle});
      if (large != middle) steps.push_back({Step::Kind::kThreads, large, middle});
    }
    begin_part(kLeaksDone);
    run_steps(steps);
    begin_part(kLeaksDone);
    if (has("race") && !is_late()) look_for_smaller_race(tests);
    for (const auto& [test, other] :
         {std::pair(middle, tests[tests.size() * 3 / 4]), std::pair(small, middle)})
      if (is_steady && !has("nondeterministic") && !is_late()) race_from_the_start(test, other);
    if (is_steady && !spec_.stages[static_cast<size_t>(Stage::kInstantiate)].empty()) {
      for (int i = 0; i < kInstantiationsAtOnce && !has("race") && !is_late(); ++i)
        run_steps({{Step::Kind::kInstantiations, small}});
    }
    if (!has("nondeterministic") && results_.contains(first) && !is_late())
      look_at_surroundings(first);
    if (!has("nondeterministic") && results_.contains(first) && !spec_.attributes.empty())
      run_steps({{Step::Kind::kOtherAttributes, first}});
    begin_part(1);
    steps.clear();
    const size_t last = tests.size() - 1;
    for (const size_t place : {last * 2 / 5, last * 3 / 5, last * 4 / 5, last}) {
      steps.push_back({Step::Kind::kSpecialValues, tests[place]});
    }
    run_steps(steps);
  }

  bool is_late() const { return now_seconds() - begin_ > kLateSeconds; }

  // A race shows best in long calls; a finding with small operands says more.
  void look_for_smaller_race(const std::vector<size_t>& tests_by_size) {
    const double begin = now_seconds();
    const auto smallest = [&] {
      size_t nbytes = SIZE_MAX;
      for (const CheckFinding& finding : report_.findings) {
        if (finding.kind == "race") nbytes = std::min(nbytes, finding.test.nbytes());
      }
      return nbytes;
    };
    const size_t known = smallest();
    for (const size_t test : tests_by_size) {
      if (cases_[test].nbytes() >= known || smallest() < known) return;
      if (report_.is_timed_out || now_seconds() - begin > kSecondsForSmallerRace) return;
      run_steps({{Step::Kind::kThreads, test}});
    }
  }

  // First everything is changed, then one thing after the other, to name it.
  void look_at_surroundings(size_t test) {
    const auto run_with = [&](uint8_t changed) {
      difference_elsewhere_.clear();
      run_steps({{.kind = Step::Kind::kSurroundings, .test = test, .changed = changed}});
      return difference_elsewhere_;
    };
    std::string difference = run_with(surroundings::kAll);
    if (difference.empty()) return;
    std::string name = surroundings::name(surroundings::kAll);
    for (const uint8_t one :
         {surroundings::kVariables, surroundings::kDirectory, surroundings::kTimeZone,
          surroundings::kLocale, surroundings::kProcessors}) {
      const std::string found = run_with(one);
      if (found.empty()) continue;
      difference = found;
      name = surroundings::name(one);
      break;
    }
    add({.kind = "nondeterministic",
         .operand = "",
         .message = fmt::format("the results depend on {}: with another one, {}", name, difference),
         .test = cases_[test],
         .stack = {},
         .data_seed = cases_[test].data_seed(report_.seed)});
  }

  // What the first call builds may be used by another thread before it is complete.
  void race_from_the_start(size_t test, size_t other) {
    const double begin = now_seconds(), begin_of_children = processor_seconds_of_children();
    const auto is_enough = [&] {
      return !report_.failure.empty() || report_.is_timed_out || has("race") ||
             now_seconds() - begin > kMostSecondsOfStarts ||
             processor_seconds_of_children() - begin_of_children > kProcessorSecondsOfStarts;
    };
    for (unsigned i = 0; i < kStartsAtOnce && !is_enough(); ++i)
      run_first_calls({Step::Kind::kFirstCalls, test});
    if (is_enough()) return;
    shared_->num_places = 0;
    run_steps({{Step::Kind::kFindPlaces, test}});
    const size_t num_places = shared_->num_places;
    const auto num_stops = static_cast<unsigned>(std::min<size_t>(num_places, kMostStops));
    for (unsigned i = 0; i < num_stops && !is_enough(); ++i) {
      begin_part(kLeaksDone + (kStartsDone - kLeaksDone) * i / num_stops);
      // All of them, in an order that leaves out no part of the call if time is short.
      const size_t stop = i * size_t{7919} % num_stops;
      run_first_calls({.kind = Step::Kind::kStop,
                       .test = test,
                       .other_test = other,
                       .place = shared_->places[stop * num_places / num_stops]});
    }
    if (num_places > 0) return;
    double shortest = 1;  // of the first thread's calls: in the first one, it does not stop
    for (unsigned i = 0; i < kMostPauses && !is_enough(); ++i) {
      shared_->seconds_of_first_call = shortest;
      const double share = i == 0 ? 1 : i * 1.0 / kMostPauses;
      run_first_calls(
          {.kind = Step::Kind::kFirstCalls, .test = test, .pause_after = shortest * share});
      shortest = std::min(shortest, shared_->seconds_of_first_call.load());
    }
  }

  void run_first_calls(const Step& step) {
    run_steps({step});
    if (!crash_at_start_) return;
    const CheckFinding finding = *std::exchange(crash_at_start_, std::nullopt);
    // The same calls may fail without threads too.
    if (run_steps({{Step::Kind::kFirstCallsAlone, step.test}}) == 0) add(finding);
  }

  // The steps from now on move the progress line from where it is to `end`.
  void begin_part(double end) {
    part_begin_ = std::max(part_begin_, part_end_);
    part_end_ = std::max(part_begin_, end);
  }

  // Returns the number of steps that ended the process.
  int run_steps(const std::vector<Step>& steps) {
    int num_crashes = 0, num_timeouts = 0;
    for (size_t next = 0; next < steps.size() && num_timeouts_ < kMostTimeoutsOfAll;) {
      shared_->crash = {};
      shared_->step = next;
      shared_->last_call = 0;
      shared_->is_concurrent = false;
      shared_->is_reference = false;
      const bool is_hung = run_child(steps, next);
      if (!report_.failure.empty() || report_.is_timed_out) break;
      if (shared_->step >= steps.size()) break;
      const Step& step = steps[shared_->step];
      add_crash(step, is_hung);
      num_timeouts += is_hung;
      num_timeouts_ += is_hung;
      if (++num_crashes >= kMostCrashes || num_timeouts >= kMostTimeouts) break;
      if (is_hung && step.kind == Step::Kind::kSpecialValues) break;
      next = shared_->step + 1;
    }
    return num_crashes;
  }

  // Returns whether a call took too long.
  bool run_child(const std::vector<Step>& steps, size_t first) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw Failure(kCouldNotRun, "no pipe could be made.");
    std::fflush(nullptr);
    static_cast<void>(ftruncate(errors_fd_, 0));
    const pid_t pid = fork();
    if (pid < 0) throw Failure(kCouldNotRun, "no process could be started.");
    if (pid == 0) {
      close(ends[0]);
      run_in_child(steps, first, ends[1]);
    }
    close(ends[1]);
    const bool is_hung = watch(pid, ends[0], steps.size());
    close(ends[0]);
    return is_hung;
  }

  [[noreturn]] void run_in_child(const std::vector<Step>& steps, size_t first, int fd) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);                     // for processes that the handler starts
    prctl(PR_SET_CHILD_SUBREAPER, 1);  // so that processes which its children leave are seen
    // Whoever started the command may ignore them, so that the handler's doing so would not show.
    for (const int number : {SIGHUP, SIGINT, SIGQUIT}) signal(number, SIG_DFL);
    be_silent();  // the output of handlers is not the command's output
    set_readable_input();
    dup2(errors_fd_, STDERR_FILENO);
    Session session(spec_, options_, cases_, *shared_, fd);
    try {
      const auto known = results_.find(steps[first].test);
      if (known != results_.end()) session.known = known->second;
      run_worker(session, steps, first);
    } catch (const std::exception& error) {
      write_all(fd, Json({{"failure", error.what()}}).dump() + "\n");
      shared_->step = steps.size();
    }
    _exit(0);
  }

  bool watch(pid_t pid, int fd, size_t num_steps) {
    const double started = now_seconds();
    // Time spent waiting for a processor does not count as time of the call, nor does time in which
    // the whole machine stood still.
    double waited_before = 0, last_seen = 0, stood_still = 0;
    bool is_hung = false, is_killed = false, has_ended = false;
    double killed_at = 0;
    std::optional<int> stopped;  // the status of a process that a signal stopped
    std::string text;
    char buffer[1 << 14];
    while (true) {
      pollfd wait = {.fd = fd, .events = POLLIN, .revents = 0};
      const double before = now_seconds();
      const int ready = poll(&wait, 1, has_ended ? 0 : 20);
      const double now = now_seconds();
      if (now - before > kLongPause) stood_still += now - before;
      if (ready > 0) {
        const ssize_t count = read(fd, buffer, sizeof(buffer));
        if (count <= 0) break;
        text.append(buffer, static_cast<size_t>(count));
        continue;
      }
      // Processes that the handler started may have the pipe open still.
      if (has_ended) break;
      if (waitpid(pid, &status_, WNOHANG | WUNTRACED) == pid) {
        has_ended = !WIFSTOPPED(status_);
        if (has_ended) continue;
        stopped = status_;
        is_killed = true;
        kill(pid, SIGKILL);
      }
      limit_errors();
      const double last = shared_->last_call;
      const double waited = waited_seconds(pid) + stood_still;
      if (last != last_seen) {
        last_seen = last;
        waited_before = waited;
      }
      const double since = now - (last == 0 ? started : last) - (waited - waited_before);
      const double share =
          static_cast<double>(shared_->step.load()) / static_cast<double>(num_steps);
      progress_.show(spec_.symbol, part_begin_ + (part_end_ - part_begin_) * share, 1,
                     shared_->num_calls, "calls");
      if (is_killed) {
        if (now - killed_at > 1) kill(pid, SIGKILL);
      } else if (now - begin_ > options_.timeout) {
        report_.is_timed_out = is_killed = true;
        kill(pid, SIGKILL);
      } else if (since >
                 (last == 0 || shared_->is_reference ? kLoadSeconds : options_.call_timeout)) {
        is_hung = is_killed = true;
        kill(pid, SIGALRM);  // makes it report its stack
      }
      if (is_killed && killed_at == 0) killed_at = now;
    }
    while (!has_ended && waitpid(pid, &status_, 0) < 0 && errno == EINTR) {
    }
    kill(-pid, SIGKILL);
    if (stopped) status_ = *stopped;
    for (const std::string& line : split(text, '\n')) {
      if (!line.empty()) take(Json::parse(line, nullptr, false));
    }
    return is_hung;
  }

  // Handlers may print without end.
  void limit_errors() const {
    constexpr off_t kMostBytes = 1 << 20;
    if (lseek(errors_fd_, 0, SEEK_END) > kMostBytes) {
      static_cast<void>(ftruncate(errors_fd_, 0));
    }
  }

  // ---- what came of it ----

  // What the process printed last, such as the text of a failed assertion.
  std::string last_words() const {
    constexpr off_t kBytes = 600;
    std::string text(kBytes, '\0');
    const off_t begin = std::max<off_t>(0, lseek(errors_fd_, 0, SEEK_END) - kBytes);
    text.resize(static_cast<size_t>(
        std::max<ssize_t>(0, pread(errors_fd_, text.data(), text.size(), begin))));
    std::string before, last;
    for (const std::string& line : split(text, '\n')) {
      if (line.empty()) continue;
      before = std::exchange(last, line);
    }
    // std::terminate prints the text of an exception in a line of its own.
    return last.starts_with("what():") ? before + " " + last : last;
  }

  void take(const Json& json) {
    if (json.is_discarded()) return;
    if (json.contains("failure")) {
      report_.failure = json["failure"];
    } else if (json.contains("finding")) {
      std::vector<std::string> stack;
      if (json.contains("stack")) {
        for (const Json& frame : json["stack"])
          stack.push_back(frame_text(frame[0].get<std::string>(), frame[1].get<std::string>(),
                                     frame[2].get<uint64_t>()));
      }
      CheckFinding finding = {.kind = json["finding"],
                              .operand = json["operand"],
                              .message = json["message"],
                              .test = cases_[json["case"].get<size_t>()],
                              .stack = stack,
                              .data_seed = json["data_seed"],
                              .values = static_cast<Values>(json["values"].get<int>())};
      if (json.contains("expected")) {
        finding.result = json["result"];
        for (const Json& byte : json["expected"])
          finding.expected.push_back(static_cast<std::byte>(byte.get<int>()));
      }
      add(std::move(finding));
    } else if (json.contains("elsewhere")) {
      difference_elsewhere_ = json["elsewhere"];
    } else if (json.contains("refused")) {
      if (refused_.empty()) report_.refusal = json["message"];
      refused_.push_back(json["refused"]);
    } else if (json.contains("ok")) {
      const size_t test = json["ok"];
      const uint64_t hash = json["hash"];
      if (json.contains("results") && !results_.contains(test)) {
        for (const Json& result : json["results"]) {
          std::vector<std::byte>& bytes = results_[test].emplace_back();
          for (const Json& byte : result) bytes.push_back(static_cast<std::byte>(byte.get<int>()));
        }
      }
      const auto [known, is_new] = succeeded_.emplace(test, hash);
      if (is_new || known->second == hash) return;
      add({.kind = "nondeterministic",
           .operand = "",
           .message =
               "with the same operands, the results differ from process to process, or after "
               "other calls",
           .test = cases_[test],
           .stack = {},
           .data_seed = cases_[test].data_seed(report_.seed)});
    }
  }

  void add(CheckFinding finding) {
    // Further findings of the same kind are counted only.
    for (CheckFinding& known : report_.findings) {
      const bool is_same = known.kind == finding.kind &&
                           (known.operand == finding.operand || finding.kind == "nondeterministic");
      if (!is_same) continue;
      finding.num_cases = known.num_cases + 1;
      // Other checks begin with small shapes.
      if (known.kind == "race" && finding.test.nbytes() < known.test.nbytes()) {
        known = std::move(finding);
      } else {
        known.num_cases = finding.num_cases;
      }
      return;
    }
    report_.findings.push_back(std::move(finding));
  }

  void add_crash(const Step& step, bool is_hung) {
    const signals::Crash& crash = shared_->crash;
    CheckFinding finding = {.kind = "",
                            .operand = "",
                            .message = "",
                            .test = cases_[step.test],
                            .stack = {},
                            .data_seed = shared_->data_seed,
                            .values = shared_->values};
    for (int i = 0; i < (crash.is_copy ? 0 : crash.num_frames); ++i) {
      const runtime::StackFrame& frame = crash.frames[i];
      if (sanitizer::is_runtime(frame.library)) continue;
      std::string text = frame_text(frame.library, frame.symbol, frame.offset);
      // A sanitizer names a call once for each function that was inlined in it.
      if (finding.stack.empty() || finding.stack.back() != text) {
        finding.stack.push_back(std::move(text));
      }
    }
    if (shared_->last_call == 0) {
      report_.failure =
          is_hung ? "loading the library takes too long"
                  : fmt::format("loading the library ends in a {}",
                                signal_text(crash.is_set ? crash.signal : WTERMSIG(status_)));
      return;
    }
    if (step.kind == Step::Kind::kSurroundings || step.kind == Step::Kind::kFindPlaces) return;
    const bool is_unusual =
        step.kind == Step::Kind::kSpecialValues || step.kind == Step::Kind::kOtherAttributes;
    // Other attributes may be wrong ones.
    if (is_unusual && !is_wrong_access(crash, step.kind == Step::Kind::kSpecialValues)) return;
    if (shared_->is_reference) {
      report_.failure = fmt::format(
          "the reference {} fails for {}: {}", spec_.reference, cases_[step.test].to_string(),
          is_hung ? "it takes too long"
                  : signal_text(crash.is_set ? crash.signal : WTERMSIG(status_)));
      return;
    }
    if (is_hung) {
      finding.kind = "timeout";
      finding.message = fmt::format("a call does not end within {:g} s", options_.call_timeout);
    } else {
      describe_crash(crash, status_, last_words(), finding);
    }
    if (step.kind == Step::Kind::kSpecialValues) finding.message += kWithSpecialValues;
    // Each thread's operands were tried alone before.
    if (shared_->is_concurrent && !is_hung) {
      finding.message =
          fmt::format("{}; only when several threads call the handler at once", finding.message);
      finding.kind = "race";
      if (step.kind == Step::Kind::kFirstCalls || step.kind == Step::Kind::kStop) {
        crash_at_start_ = std::move(finding);
        return;
      }
    }
    add(std::move(finding));
  }

  // "rms_norm (librms.so+0x1234)"
  std::string frame_text(const std::string& library, std::string symbol, uint64_t offset) {
    if (!files_.contains(library)) {
      try {
        files_[library] = read_elf(library);
      } catch (const Failure&) {
        files_[library] = {};
      }
    }
    if (const ElfSymbol* found = symbol_at(files_[library], offset)) symbol = found->name;
    if (std::string plain = demangled(symbol); plain != symbol) {
      symbol = without_template_arguments(plain);
    }
    const std::string place =
        fmt::format("{}+0x{:x}", std::filesystem::path(library).filename().string(), offset);
    return symbol.empty() ? place : fmt::format("{} ({})", symbol, place);
  }

  bool has(std::string_view kind) const {
    return std::ranges::any_of(report_.findings,
                               [&](const CheckFinding& finding) { return finding.kind == kind; });
  }

  // A race also makes results nondeterministic; only the race is reported.
  void drop_consequences() {
    if (!has("race")) return;
    std::erase_if(report_.findings,
                  [](const CheckFinding& finding) { return finding.kind == "nondeterministic"; });
  }

  void keep_wanted_kinds() {
    if (options_.kinds.empty()) return;
    std::erase_if(report_.findings, [&](const CheckFinding& finding) {
      return !std::ranges::count(options_.kinds, finding.kind);
    });
  }

  const CheckSpec& spec_;
  const CheckOptions& options_;
  std::vector<Case> cases_;
  Progress progress_;
  double part_begin_ = 0, part_end_ = 0;  // of the work, from 0 to 1
  double begin_;
  Shared* shared_;
  int status_ = 0;
  int num_timeouts_ = 0;
  int errors_fd_;                         // a file for the standard error stream of the handlers
  std::map<size_t, uint64_t> succeeded_;  // with the hash of their results
  std::map<size_t, std::vector<std::vector<std::byte>>> results_;  // small ones
  std::vector<size_t> refused_;
  std::optional<CheckFinding> crash_at_start_;  // of the first calls, on several threads
  std::string difference_elsewhere_;            // of the results in other surroundings
  std::map<std::string, ElfFile> files_;
  CheckReport report_;
};

}  // namespace

CheckReport check(const CheckSpec& spec, const CheckOptions& options) {
  verify(spec);
  // Errors in the file are reported here, where more is known about them.
  if (!is_python_module(spec.library)) {
    const std::string problem = sanitizer::problem_of(read_elf(spec.library));
    if (!problem.empty())
      throw Failure(kCouldNotRun, fmt::format("{}: {}.", spec.library, problem));
  }
  return Supervisor(spec, options).run();
}

}  // namespace farcall::tools
