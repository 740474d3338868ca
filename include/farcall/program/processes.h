// Processes that run one program together, each with its own devices. A separate library (src/mpi)
// transports data between them, so that this one does not link MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <farcall/core/export.h>

namespace farcall {

// The processes of one job, as seen by one of them. Thread-safe. Functions that wait poll for
// interrupts. They raise ABORTED if another process fails or ends, and DEADLINE_EXCEEDED, naming
// the processes that are missing, after the timeout. After such an error every call raises.
class FARCALL_API Processes {
 public:
  // Bytes to send to a process or to receive from one. Messages between two processes with the same
  // tag arrive in the order of sending.
  struct Message {
    int process = 0;
    int tag = 0;  // at most kMaxTag
    void* data = nullptr;
    size_t nbytes = 0;
  };
  static constexpr int kMaxTag = (1 << 24) - 1;

  Processes() = default;
  virtual ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  virtual int index() const = 0;  // the number of this process
  virtual int count() const = 0;

  // Waits until all processes have called this. If their fingerprints differ, raises
  // FAILED_PRECONDITION in all of them; the message says which process runs what, and shows the
  // first line of the `details` that differs.
  virtual void agree(uint64_t fingerprint, std::string_view what,
                     std::string_view details = {}) = 0;
  // Sends and receives concurrently, and waits for all messages. `what` is for error messages.
  virtual void exchange(std::string_view what, std::span<const Message> sends,
                        std::span<const Message> receives) = 0;
  // Gives all processes a value of this key; a later one replaces it.
  virtual void put(std::string_view key, std::string_view value) = 0;
  // The value of this key. Waits for it, for at most this many seconds, whatever the timeout of the
  // job is. No value if no process has set one in this time.
  virtual std::optional<std::string> get(std::string_view key, double seconds) = 0;
  // Tells the other processes that this one has failed: their waiting calls raise.
  virtual void fail(std::string_view why) noexcept = 0;
  // Leaves the job. With `why`, the others learn that this process ends with an error.
  virtual void close(std::string_view why) noexcept = 0;
};

// Null if the process has not joined a job. Valid until close_processes().
FARCALL_API Processes* processes();
// Raises FAILED_PRECONDITION, naming `who`, if the process has not joined a job.
FARCALL_API Processes& processes_for(std::string_view who);

class Mesh;
// Raises UNIMPLEMENTED for a mesh with devices of some other processes but not of all: every
// process must take part in a program that runs on several.
FARCALL_API void check_has_all_processes(const Mesh& mesh);

struct ProcessOptions {
  // How long to wait for other processes.
  double timeout_seconds = 300;
  // Whether each collective operation first checks that all processes run the same one.
  bool checks_agreement = true;
};
// The function that a transport library exports as kOpenProcesses. Returns an object made by new.
using OpenProcesses = Processes*(const ProcessOptions& options);
inline constexpr const char* kOpenProcesses = "farcall_open_processes";

// Joins the job, and adds the devices of all its processes. Every process calls this before any
// other thread runs programs. Raises FAILED_PRECONDITION if it was called before, INVALID_ARGUMENT
// for a timeout that is not positive, and what `open` raises.
FARCALL_API void open_processes(const std::function<OpenProcesses>& open,
                                const ProcessOptions& options);
// The same with a transport library, which is loaded. Raises UNAVAILABLE if it cannot be loaded.
FARCALL_API void open_processes(const std::string& library, const ProcessOptions& options);
// Leaves the job. Does nothing if the process has not joined one. Devices stay as they are.
FARCALL_API void close_processes(std::string_view why = {}) noexcept;

// Runs work that waits for other processes, outside of programs and without holding a lock of the
// library. A front end installs one that releases its own lock.
using Waiter = void (*)(const std::function<void()>& work);
FARCALL_API void set_waiter(Waiter waiter);
FARCALL_API void wait_for_processes(const std::function<void()>& work);

namespace detail {
// Registered by an engine, which numbers its devices among those of all processes. Called with the
// processes before any device of another process is used.
using DeviceSharing = void (*)(Processes& processes);
FARCALL_API void add_device_sharing(DeviceSharing share);
}  // namespace detail

}  // namespace farcall
