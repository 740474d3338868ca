// Processes that run one program together, each with devices of its own. What carries data between
// them is a library of its own (src/mpi), so that this one links none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <farcall/core/export.h>

namespace farcall {

// The processes of one job, as one of them sees it. Functions that wait look for interrupts
// meanwhile, and raise ABORTED when another process fails or ends, DEADLINE_EXCEEDED naming the
// processes that have not come in time; from then on each of them raises. Any thread may call.
class FARCALL_API Processes {
 public:
  // Bytes that go to a process or come from one. Those between two processes with the same tag
  // arrive in the order in which they were sent.
  struct Message {
    int process = 0;
    int tag = 0;  // kMaxTag at most
    void* data = nullptr;
    size_t nbytes = 0;
  };
  static constexpr int kMaxTag = (1 << 24) - 1;

  Processes() = default;
  virtual ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  virtual int index() const = 0;  // of this process
  virtual int count() const = 0;

  // Waits until all processes have called this. Raises FAILED_PRECONDITION on all of them, naming
  // which run what, unless they gave the same number.
  virtual void agree(uint64_t fingerprint, std::string_view what) = 0;
  // Sends and receives at the same time, until all of it is done. `what` is for errors.
  virtual void exchange(std::string_view what, std::span<const Message> sends,
                        std::span<const Message> receives) = 0;
  // Tells the others that this process cannot go on: what they wait for raises there.
  virtual void fail(std::string_view why) noexcept = 0;
  // Ends what was begun. With `why`, the others learn that this process ends with an error.
  virtual void close(std::string_view why) noexcept = 0;
};

// Null for a process of its own. Stays valid until close_processes().
FARCALL_API Processes* processes();
// Raises FAILED_PRECONDITION where there are none.
FARCALL_API Processes& processes_for(std::string_view who);

class Mesh;
// Every process takes part in what runs on several of them: raises UNIMPLEMENTED for a mesh that
// has devices of some, but not of all.
FARCALL_API void check_has_all_processes(const Mesh& mesh);

struct ProcessOptions {
  // How long to wait for other processes.
  double timeout_seconds = 300;
  // Whether each collective operation begins with a check that all processes run the same one.
  bool checks_agreement = true;
};
// What a library that carries data exports, by the name kOpenProcesses. Made by new.
using OpenProcesses = Processes*(const ProcessOptions& options);
inline constexpr const char* kOpenProcesses = "farcall_open_processes";

// Joins the job, and makes the devices of all its processes known. Every process calls this, before
// it makes other threads run programs. Raises FAILED_PRECONDITION where it was called before, and
// what `open` raises.
FARCALL_API void open_processes(const std::function<OpenProcesses>& open,
                                const ProcessOptions& options);
// The same by a library that is loaded for it. Raises UNAVAILABLE where it cannot be loaded.
FARCALL_API void open_processes(const std::string& library, const ProcessOptions& options);
// Does nothing without processes. Devices stay as they are.
FARCALL_API void close_processes(std::string_view why = {}) noexcept;

// Runs work that waits for other processes, outside of programs and with no lock of ours held. A
// front end sets one that releases its own lock meanwhile.
using Waiter = void (*)(const std::function<void()>& work);
FARCALL_API void set_waiter(Waiter waiter);
FARCALL_API void wait_for_processes(const std::function<void()>& work);

namespace detail {
// The engine whose devices are shared hands itself down: called with the processes, before any
// device of another one is used.
using DeviceSharing = void (*)(Processes& processes);
FARCALL_API void set_device_sharing(DeviceSharing share);
}  // namespace detail

}  // namespace farcall
