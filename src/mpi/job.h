// The processes that mpirun has started, connected by MPI. All operations are nonblocking
// underneath, so every wait also checks for interrupts, failures of other processes, and the
// timeout.
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <farcall/program/processes.h>

#include "store.h"

namespace farcall::mpi {

class Job final : public Processes {
 public:
  // Raises FAILED_PRECONDITION for a process that no MPI launcher has started, DEADLINE_EXCEEDED if
  // other processes do not join in time.
  static std::unique_ptr<Job> open(const ProcessOptions& options);

  int index() const override { return index_; }
  int count() const override { return count_; }
  void agree(uint64_t fingerprint, std::string_view what, std::string_view details) override;
  void exchange(std::string_view what, std::span<const Message> sends,
                std::span<const Message> receives) override;
  void put(std::string_view key, std::string_view value) override;
  std::optional<std::string> get(std::string_view key, double seconds) override;
  void fail(std::string_view why) noexcept override;
  void close(std::string_view why) noexcept override;

  // One collective operation: checks that all processes run the same one, unless that is off, then
  // runs what `start` begins on the communicator.
  void collective(std::string_view what, const std::function<int(MPI_Comm, MPI_Request*)>& start);
  // The type of a message, such as "f32[3]", at most 63 characters of it.
  struct Label {
    Label() = default;
    explicit Label(std::string_view type) { type.copy(text, sizeof(text) - 1); }
    char text[64] = {};
  };
  // A message whose type is compared on arrival.
  struct TypedMessage {
    Message message;
    Label type;
  };
  // Messages of users. They have a communicator of their own, so their tags are separate. Raises
  // FAILED_PRECONDITION if a message has another type than the receiver wants, unless that check is
  // off.
  void transfer(std::string_view what, std::span<const TypedMessage> sends,
                std::span<const TypedMessage> receives);

 private:
  using Clock = std::chrono::steady_clock;
  enum class Kind : int32_t { kFailed, kEnded, kAsks, kIsHere };
  // Control messages between processes, independent of their computations.
  struct Notice {
    Kind kind = Kind::kFailed;
    int32_t padding = 0;
    int64_t agreement = 0;
    char text[240] = {};
  };
  struct SentNotice {
    Notice notice;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Awaited {
    std::vector<MPI_Request> requests;
    std::vector<int> processes;         // by request; empty for a collective
    std::vector<int> sizes;             // expected bytes of the first requests, which are receives
    std::function<void()> check_types;  // raises if a label has arrived that is not wanted
  };
  // Each is sent before its message, with the same tag.
  struct Labels {
    std::vector<Label> sent, received;
  };
  struct Peer {
    Clock::time_point ended_at;  // when its notice arrived
    bool has_ended = false, is_here = false;
  };

  Job(const ProcessOptions& options, bool is_ours);
  MPI_Comm duplicate();
  void begin(MPI_Comm comm, std::string_view what, std::span<const Message> sends,
             std::span<const Message> receives, std::function<void()> check_types);
  void wait(std::string_view what, Awaited& awaited);
  // The `own` of all processes, by process.
  template <class T>
  std::vector<T> all_of(std::string_view what, const T& own);
  // Shows the first line of the processes' `details` that is not the same in all; every process
  // must call it.
  std::string first_difference(std::string_view what, std::string_view details);
  bool is_done(std::string_view what, Awaited& awaited);
  void abandon(Awaited& awaited) noexcept;
  void check(std::string_view what, int code) const;
  void check_peers(std::string_view what, const Awaited& awaited);
  [[noreturn]] void time_is_up(std::string_view what, const Awaited& awaited);
  std::vector<int> missing(const Awaited& awaited) const;

  void read_notices();
  void send_notice(int process, Kind kind, std::string_view text) noexcept;
  void tell_all(Kind kind, std::string_view text) noexcept;
  void check_failed(std::string_view what);
  // Whether this is a child that has a copy of the job, and must leave it alone.
  bool is_forked() const;

  const double timeout_;
  const bool checks_agreement_;
  const bool is_ours_;  // MPI was initialized here
  const pid_t process_ = getpid();
  int index_ = 0, count_ = 1;
  std::mutex mpi_;  // held during each call of MPI
  MPI_Comm data_ = MPI_COMM_NULL, users_ = MPI_COMM_NULL, checks_ = MPI_COMM_NULL,
           notices_ = MPI_COMM_NULL;
  Store store_;
  std::atomic<int64_t> agreement_{0};
  std::list<SentNotice> sent_;
  std::vector<std::unique_ptr<Labels>> abandoned_;
  std::vector<Peer> peers_;
  std::string failure_;  // empty without a failure
  bool has_told_ = false;
};

// The job of this process. Raises FAILED_PRECONDITION without one.
Job& job(std::string_view who);

}  // namespace farcall::mpi
