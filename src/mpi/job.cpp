#include "job.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>
#include <farcall/core/interrupt.h>
#include <farcall/core/stop.h>

#include "start.h"

namespace farcall::mpi {
namespace {

using Lock = std::lock_guard<std::mutex>;

constexpr size_t kLargestMessage = size_t{1} << 30;  // MPI counts in int
// Messages that a process sent before it ended arrive within this time.
constexpr std::chrono::seconds kGrace(2);
// Time limit for cancelling a receive.
constexpr std::chrono::milliseconds kCancelling(500);
// Waiting processes answer kAsks within this time.
constexpr std::chrono::seconds kAnswer(1);
// How long a process that ends with an error waits for the others to end.
constexpr std::chrono::seconds kPatience(5);

// Launchers set one of these: Open MPI, PMIx, MPICH and Intel MPI.
bool has_launcher() {
  constexpr const char* kVariables[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK",
                                        "PMI_SIZE"};
  return std::ranges::any_of(kVariables, [](const char* name) { return std::getenv(name); });
}

std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) return fmt::format("error {}", code);
  return {text, static_cast<size_t>(length)};
}

std::string names_of(const std::vector<int>& processes) {
  return fmt::format("process{} {}", processes.size() == 1 ? "" : "es", fmt::join(processes, ", "));
}

// The last line of a traceback, else the whole text; "KeyboardInterrupt", without an empty message.
std::string_view brief(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(": \n") + 1);
  if (text.starts_with("Traceback")) text = text.substr(text.find_last_of('\n') + 1);
  return text;
}

[[noreturn]] void aborted(std::string message) {
  throw Error(ErrorCode::kAborted, std::move(message));
}

}  // namespace

// ---- beginning and end ----

bool Job::is_forked() const { return getpid() != process_; }

std::unique_ptr<Job> Job::open(const ProcessOptions& options) {
  int is_initialized = 0, is_finalized = 0;
  MPI_Initialized(&is_initialized);
  MPI_Finalized(&is_finalized);
  if (is_finalized) {
    throw Error(ErrorCode::kFailedPrecondition,
                "distributed.initialize: MPI has been finalized in this process, which cannot be "
                "undone");
  }
  if (!is_initialized && !has_launcher()) {
    throw Error(ErrorCode::kFailedPrecondition,
                "distributed.initialize: this process was not started by mpirun. Start the program "
                "with it, as in `mpirun -n 4 python program.py`; a program of one process needs no "
                "initialize()");
  }
  return std::unique_ptr<Job>(new Job(options, !is_initialized));
}

Job::Job(const ProcessOptions& options, bool is_ours)
    : timeout_(options.timeout_seconds),
      checks_agreement_(options.checks_agreement),
      is_ours_(is_ours) {
  constexpr const char* kWho = "distributed.initialize";
  int level = 0;
  if (is_ours) {
    level = start_mpi(timeout_);
  } else {
    check(kWho, MPI_Query_thread(&level));
  }
  if (level < MPI_THREAD_SERIALIZED) {
    throw Error(
        ErrorCode::kFailedPrecondition,
        "distributed.initialize: MPI was initialized for a single thread only; initialize it with "
        "MPI_THREAD_MULTIPLE or MPI_THREAD_SERIALIZED (MPI_Init_thread), or leave it to farcall");
  }
  check(kWho, MPI_Comm_rank(MPI_COMM_WORLD, &index_));
  check(kWho, MPI_Comm_size(MPI_COMM_WORLD, &count_));
  peers_.resize(static_cast<size_t>(count_));
  for (MPI_Comm* comm : {&notices_, &checks_, &data_, &users_}) *comm = duplicate();
  store_.open(duplicate(), index_, count_);
}

MPI_Comm Job::duplicate() {
  constexpr const char* kWho = "distributed.initialize";
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  check(kWho, MPI_Comm_idup(MPI_COMM_WORLD, &made, &request));
  const auto begin = Clock::now();
  for (int is_there = 0; !is_there; sched_yield()) {
    check(kWho, MPI_Test(&request, &is_there, MPI_STATUS_IGNORE));
    check_interrupt();
    if (std::chrono::duration<double>(Clock::now() - begin).count() > timeout_) {
      throw Error(ErrorCode::kDeadlineExceeded,
                  fmt::format("distributed.initialize: not all {} processes of the job have called "
                              "initialize() within {} s",
                              count_, timeout_));
    }
  }
  MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  return made;
}

void Job::close(std::string_view why) noexcept {
  int is_finalized = 0;
  MPI_Finalized(&is_finalized);
  if (is_finalized || is_forked()) return;
  const Lock lock(mpi_);
  const bool has_failed = !why.empty() || !failure_.empty();
  if (!has_told_) tell_all(why.empty() ? Kind::kEnded : Kind::kFailed, brief(why));
  has_told_ = true;
  failure_ = "the processes have been closed";
  // Otherwise the user, or another library, finalizes MPI. Failed operations may still use the
  // communicators, so these are not freed.
  if (!is_ours_) return;
  // The last process to arrive releases all. After a failure some may never arrive, so the wait is
  // limited.
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(notices_, &request);
  const auto begin = Clock::now();
  for (int are_there = 0; !are_there; usleep(500)) {
    MPI_Test(&request, &are_there, MPI_STATUS_IGNORE);
    if (has_failed && !are_there && Clock::now() - begin > kPatience) {
      MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
  }
  finish_mpi();
}

// ---- notices ----

void Job::send_notice(int process, Kind kind, std::string_view text) noexcept {
  try {
    SentNotice& sent = sent_.emplace_back();
    sent.notice.kind = kind;
    sent.notice.agreement = agreement_;
    std::memcpy(sent.notice.text, text.data(), std::min(text.size(), sizeof(Notice::text) - 1));
    MPI_Isend(&sent.notice, sizeof(Notice), MPI_BYTE, process, 0, notices_, &sent.request);
    // Completed notices are no longer needed; small ones complete at once.
    sent_.remove_if([](SentNotice& each) {
      int is_gone = 0;
      MPI_Test(&each.request, &is_gone, MPI_STATUS_IGNORE);
      return is_gone != 0;
    });
  } catch (const std::bad_alloc&) {  // the others will notice at their timeout
  }
}

void Job::tell_all(Kind kind, std::string_view text) noexcept {
  for (int process = 0; process < count_; ++process) {
    if (process != index_) send_notice(process, kind, text);
  }
}

void Job::read_notices() {
  for (;;) {
    int is_there = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, 0, notices_, &is_there, &status);
    if (!is_there) return;
    Notice notice;
    const int from = status.MPI_SOURCE;
    MPI_Recv(&notice, sizeof(notice), MPI_BYTE, from, 0, notices_, MPI_STATUS_IGNORE);
    notice.text[sizeof(notice.text) - 1] = '\0';
    Peer& peer = peers_[static_cast<size_t>(from)];
    switch (notice.kind) {
      case Kind::kFailed:
        if (failure_.empty()) failure_ = fmt::format("process {} failed: {}", from, notice.text);
        break;
      case Kind::kEnded:
        peer.has_ended = true;
        peer.ended_at = Clock::now();
        break;
      case Kind::kAsks:  // only waiting processes read this
        if (agreement_ >= notice.agreement) send_notice(from, Kind::kIsHere, {});
        break;
      case Kind::kIsHere:
        peer.is_here = true;
    }
  }
}

void Job::fail(std::string_view why) noexcept {
  if (is_forked()) return;
  const Lock lock(mpi_);
  if (std::exchange(has_told_, true)) return;
  try {
    if (failure_.empty()) {
      tell_all(Kind::kFailed, brief(why));
      failure_ = fmt::format("this process ({}) failed before: {}", index_, brief(why));
    }
  } catch (const std::bad_alloc&) {
  }
}

void Job::check_failed(std::string_view what) {
  if (is_forked()) {
    throw Error(ErrorCode::kFailedPrecondition,
                fmt::format("{}: this is a forked child of process {}, which is not in the job",
                            what, index_));
  }
  if (failure_.empty()) return;
  aborted(fmt::format("{}: {}. The job cannot continue; restart the program", what, failure_));
}

// ---- waiting ----

void Job::check(std::string_view what, int code) const {
  if (code == MPI_SUCCESS) return;
  throw Error(ErrorCode::kUnavailable, fmt::format("{}: MPI error: {}", what, text_of(code)));
}

std::vector<int> Job::missing(const Awaited& awaited) const {
  std::vector<int> found;
  for (size_t i = 0; i < awaited.processes.size(); ++i) {
    if (awaited.requests[i] != MPI_REQUEST_NULL) found.push_back(awaited.processes[i]);
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

bool Job::is_done(std::string_view what, Awaited& awaited) {
  // Tested one by one, so that errors can name the missing processes.
  bool are_all = true;
  for (size_t i = 0; i < awaited.requests.size(); ++i) {
    MPI_Request& request = awaited.requests[i];
    if (request == MPI_REQUEST_NULL) continue;
    int is_there = 0, nbytes = 0;
    MPI_Status status;
    const int code = MPI_Test(&request, &is_there, &status);
    if (code != MPI_SUCCESS && awaited.check_types) awaited.check_types();  // has a better reason
    check(what, code);
    are_all = are_all && is_there;
    if (!is_there || i >= awaited.sizes.size()) continue;
    MPI_Get_count(&status, MPI_BYTE, &nbytes);
    if (nbytes == awaited.sizes[i]) continue;
    if (awaited.check_types) awaited.check_types();
    invalid_argument(fmt::format("{}: process {} has sent {} bytes, and process {} expects {}",
                                 what, awaited.processes[i], nbytes, index_, awaited.sizes[i]));
  }
  if (are_all && awaited.check_types) awaited.check_types();
  return are_all;
}

// Raises if a process that is waited for has failed or ended.
void Job::check_peers(std::string_view what, const Awaited& awaited) {
  read_notices();
  check_failed(what);
  const std::vector<int> of_messages = missing(awaited);
  for (int process = 0; process < count_; ++process) {
    const Peer& peer = peers_[static_cast<size_t>(process)];
    if (!peer.has_ended || Clock::now() - peer.ended_at < kGrace) continue;
    const bool is_awaited =
        awaited.processes.empty() || std::ranges::find(of_messages, process) != of_messages.end();
    if (!is_awaited) continue;
    aborted(
        fmt::format("{}: process {} has ended, and process {} waits for it. All processes must run "
                    "the same programs, the same number of times",
                    what, process, index_));
  }
}

void Job::time_is_up(std::string_view what, const Awaited& awaited) {
  std::vector<int> late = missing(awaited);
  if (late.empty()) {  // a collective: processes that also wait answer, the others are late
    for (Peer& peer : peers_) peer.is_here = false;
    peers_[static_cast<size_t>(index_)].is_here = true;
    tell_all(Kind::kAsks, {});
    for (const auto begin = Clock::now(); Clock::now() - begin < kAnswer; usleep(1000)) {
      read_notices();
      check_failed(what);
    }
    for (int process = 0; process < count_; ++process) {
      if (!peers_[static_cast<size_t>(process)].is_here) late.push_back(process);
    }
  }
  throw Error(
      ErrorCode::kDeadlineExceeded,
      fmt::format("{}: process {} has waited {} s for {}. All processes must run the same "
                  "programs, the same number of times; if they only take longer, pass "
                  "distributed.initialize() a longer timeout",
                  what, index_, timeout_, late.empty() ? std::string("others") : names_of(late)));
}

void Job::wait(std::string_view what, Awaited& awaited) {
  constexpr int kSpins = 100;  // rounds before it yields to other threads
  constexpr int kBusy = 2000;  // rounds before it sleeps
  const auto begin = Clock::now();
  try {
    for (int round = 1;; ++round) {
      {
        const Lock lock(mpi_);
        if (is_done(what, awaited)) return;
        if (round % 64 == 0 || round > kBusy) {
          check_peers(what, awaited);
          if (std::chrono::duration<double>(Clock::now() - begin).count() > timeout_) {
            time_is_up(what, awaited);
          }
        }
      }
      poll_interrupt();
      if (round > kBusy) {
        usleep(50);
      } else if (round > kSpins) {
        sched_yield();
      }
    }
  } catch (const StoppedError&) {  // whoever stopped it reports why
    abandon(awaited);
    throw;
  } catch (const std::exception& error) {
    abandon(awaited);
    fail(error.what());
    throw;
  } catch (...) {
    abandon(awaited);
    fail("it was interrupted");
    throw;
  }
}

// Cancels receives, so that nothing is written to memory that the caller may free.
void Job::abandon(Awaited& awaited) noexcept {
  const Lock lock(mpi_);
  for (size_t i = 0; i < awaited.sizes.size(); ++i) {
    if (awaited.requests[i] != MPI_REQUEST_NULL) MPI_Cancel(&awaited.requests[i]);
  }
  const auto begin = Clock::now();
  for (bool are_all = false; !are_all && Clock::now() - begin < kCancelling; sched_yield()) {
    are_all = true;
    for (size_t i = 0; i < awaited.sizes.size(); ++i) {
      int is_there = 1;
      if (awaited.requests[i] != MPI_REQUEST_NULL) {
        MPI_Test(&awaited.requests[i], &is_there, MPI_STATUS_IGNORE);
      }
      are_all = are_all && is_there;
    }
  }
}

// ---- operations ----

template <class T>
std::vector<T> Job::all_of(std::string_view what, const T& own) {
  // Not freed if another process never arrives, because MPI may still write to it.
  struct Values {
    T own;
    std::vector<T> all;
  };
  auto values = std::make_unique<Values>(Values{own, std::vector<T>(peers_.size())});
  Awaited awaited;
  {
    const Lock lock(mpi_);
    check_failed(what);
    ++agreement_;
    check(what, MPI_Iallgather(&values->own, sizeof(T), MPI_BYTE, values->all.data(), sizeof(T),
                               MPI_BYTE, checks_, &awaited.requests.emplace_back()));
  }
  try {
    wait(what, awaited);
  } catch (...) {
    static_cast<void>(values.release());
    throw;
  }
  return std::move(values->all);
}

namespace {

// "process 0 has …; processes 1, 2 have …": processes with equal keys are named together.
template <class Line, class Key, class Text>
std::string by_process(const std::vector<Line>& lines, const Key& key_of, const char* verb,
                       const char* plural, const Text& text_of) {
  std::vector<std::pair<const Line*, std::vector<int>>> kinds;
  for (size_t process = 0; process < lines.size(); ++process) {
    const auto found = std::ranges::find_if(
        kinds, [&](const auto& kind) { return key_of(*kind.first) == key_of(lines[process]); });
    auto& kind =
        found == kinds.end() ? kinds.emplace_back(&lines[process], std::vector<int>()) : *found;
    kind.second.push_back(static_cast<int>(process));
  }
  std::string text;
  for (const auto& [line, processes] : kinds) {
    text += fmt::format("{}{} {} {}", text.empty() ? "" : "; ", names_of(processes),
                        processes.size() == 1 ? verb : plural, text_of(*line));
  }
  return text;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

std::string Job::first_difference(std::string_view what, std::string_view details) {
  constexpr size_t kMaxLines = 1000;
  using Hashes = std::array<uint32_t, kMaxLines>;  // 0 after the last line
  const std::vector<std::string_view> lines = lines_of(details);
  Hashes own{};
  for (size_t i = 0; i < std::min(lines.size(), kMaxLines); ++i) {
    own[i] = static_cast<uint32_t>(std::hash<std::string_view>()(lines[i])) | 1;
  }
  const std::vector<Hashes> all = all_of(what, own);
  size_t first = 0;
  const auto is_same = [&](const Hashes& hashes) { return hashes[first] == own[first]; };
  while (first < kMaxLines && std::ranges::all_of(all, is_same)) ++first;
  if (first == kMaxLines) return fmt::format(". Their first {} lines are alike", kMaxLines);
  struct Text {
    char text[160] = {};
  };
  Text line;
  const std::string_view mine = first < lines.size() ? lines[first] : "no such line";
  mine.substr(std::min(mine.find_first_not_of(' '), mine.size()))
      .copy(line.text, sizeof(line.text) - 1);
  const auto text_of = [](const Text& each) { return fmt::format("\"{}\"", each.text); };
  return fmt::format(". Line {} differs: {}", first + 1,
                     by_process(all_of(what, line), text_of, "has", "have", text_of));
}

void Job::agree(uint64_t fingerprint, std::string_view what, std::string_view details) {
  struct Line {
    uint64_t fingerprint = 0;
    bool has_details = false;
    char what[119] = {};
  };
  Line own;
  own.fingerprint = fingerprint;
  own.has_details = !details.empty();
  what.copy(own.what, sizeof(own.what) - 1);
  const std::vector<Line> all = all_of(what, own);
  const auto fingerprint_of = [](const Line& line) { return line.fingerprint; };
  if (std::ranges::all_of(all, [&](const Line& line) { return line.fingerprint == fingerprint; })) {
    return;
  }
  const auto what_of = [](const Line& line) { return std::string_view(line.what); };
  std::string text = by_process(all, fingerprint_of, "runs", "run", what_of);
  if (std::ranges::all_of(all, &Line::has_details)) text += first_difference(what, details);
  throw Error(ErrorCode::kFailedPrecondition,
              fmt::format("the processes run different programs: {}. All of them must run the same "
                          "ones, in the same order",
                          text));
}

void Job::begin(MPI_Comm comm, std::string_view what, std::span<const Message> sends,
                std::span<const Message> receives, std::function<void()> check_types) {
  Awaited awaited;
  awaited.check_types = std::move(check_types);
  const auto for_each_part = [](const Message& message, const auto& part) {
    size_t done = 0;
    do {
      const size_t nbytes = std::min(message.nbytes - done, kLargestMessage);
      part(static_cast<char*>(message.data) + done, static_cast<int>(nbytes));
      done += nbytes;
    } while (done < message.nbytes);
  };
  {
    const Lock lock(mpi_);
    check_failed(what);
    for (const Message& message : receives) {
      for_each_part(message, [&](void* data, int nbytes) {
        awaited.processes.push_back(message.process);
        awaited.sizes.push_back(nbytes);
        check(what, MPI_Irecv(data, nbytes, MPI_BYTE, message.process, message.tag, comm,
                              &awaited.requests.emplace_back(MPI_REQUEST_NULL)));
      });
    }
    for (const Message& message : sends) {
      for_each_part(message, [&](const void* data, int nbytes) {
        awaited.processes.push_back(message.process);
        check(what, MPI_Isend(data, nbytes, MPI_BYTE, message.process, message.tag, comm,
                              &awaited.requests.emplace_back(MPI_REQUEST_NULL)));
      });
    }
  }
  wait(what, awaited);
}

void Job::exchange(std::string_view what, std::span<const Message> sends,
                   std::span<const Message> receives) {
  begin(data_, what, sends, receives, {});
}

void Job::transfer(std::string_view what, std::span<const TypedMessage> sends,
                   std::span<const TypedMessage> receives) {
  auto labels = std::make_unique<Labels>();
  if (checks_agreement_) {
    labels->sent.resize(sends.size());
    labels->received.resize(receives.size());
  }
  for (size_t i = 0; i < labels->sent.size(); ++i) labels->sent[i] = sends[i].type;
  const auto with_labels = [](std::span<const TypedMessage> messages, std::vector<Label>& all) {
    std::vector<Message> parts;
    for (size_t i = 0; i < messages.size(); ++i) {
      const Message& own = messages[i].message;
      if (!all.empty()) parts.push_back({own.process, own.tag, &all[i], sizeof(Label)});
      parts.push_back(own);
    }
    return parts;
  };
  const auto check_types = [&, received = &labels->received] {
    for (size_t i = 0; i < received->size(); ++i) {
      const std::string_view type = (*received)[i].text, wanted = receives[i].type.text;
      if (type.empty() || type == wanted) continue;
      throw Error(ErrorCode::kFailedPrecondition,
                  fmt::format("{}: process {} has sent {}, and process {} expects {}", what,
                              receives[i].message.process, type, index_, wanted));
    }
  };
  const std::vector<Message> outgoing = with_labels(sends, labels->sent);
  const std::vector<Message> incoming = with_labels(receives, labels->received);
  try {
    begin(users_, what, outgoing, incoming, check_types);
  } catch (...) {
    const Lock lock(mpi_);
    abandoned_.push_back(std::move(labels));  // MPI may still use it
    throw;
  }
}

void Job::collective(std::string_view what,
                     const std::function<int(MPI_Comm, MPI_Request*)>& start) {
  if (checks_agreement_) agree(std::hash<std::string_view>()(what), what, {});
  Awaited awaited;
  {
    const Lock lock(mpi_);
    check_failed(what);
    check(what, start(users_, &awaited.requests.emplace_back(MPI_REQUEST_NULL)));
  }
  wait(what, awaited);
}

void Job::put(std::string_view key, std::string_view value) {
  const std::string what = fmt::format("put of key \"{}\"", key);
  const Lock lock(mpi_);
  check_failed(what);
  check(what, store_.put(key, value));
}

std::optional<std::string> Job::get(std::string_view key, double seconds) {
  const std::string what = fmt::format("get of key \"{}\"", key);
  for (const auto begin = Clock::now();;) {
    {
      const Lock lock(mpi_);
      check(what, store_.receive());
      if (const std::string* value = store_.find(key)) return *value;
      read_notices();
      check_failed(what);
    }
    if (std::chrono::duration<double>(Clock::now() - begin).count() >= seconds) return std::nullopt;
    check_interrupt();
    usleep(200);
  }
}

Job& job(std::string_view who) { return static_cast<Job&>(processes_for(who)); }

}  // namespace farcall::mpi

extern "C" __attribute__((visibility("default"))) farcall::Processes* farcall_open_processes(
    const farcall::ProcessOptions& options) {
  return farcall::mpi::Job::open(options).release();
}
