#include <farcall/program/processes.h>

#include <dlfcn.h>

#include <atomic>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>

namespace farcall {
namespace {

struct Job {
  std::mutex mutex;
  std::atomic<Processes*> processes{nullptr};
  std::atomic<bool> was_opened{false};
  std::vector<detail::DeviceSharing> shares;

  static Job& instance() {
    static auto* job = new Job;
    return *job;
  }
};

}  // namespace

Processes::~Processes() = default;

Processes* processes() { return Job::instance().processes.load(std::memory_order_acquire); }

Processes& processes_for(std::string_view who) {
  if (Processes* found = processes()) return *found;
  const bool was_opened = Job::instance().was_opened;
  throw Error(ErrorCode::kFailedPrecondition,
              fmt::format("{}: {}", who,
                          was_opened ? "the processes have been closed (distributed.shutdown)"
                                     : "needs the processes of a job; call "
                                       "distributed.initialize() first, in a program that "
                                       "mpirun has started"));
}

void open_processes(const std::function<OpenProcesses>& open, const ProcessOptions& options) {
  Job& job = Job::instance();
  const std::lock_guard lock(job.mutex);
  if (job.was_opened) {
    throw Error(ErrorCode::kFailedPrecondition,
                "distributed.initialize: may be called once in a process, and was called before");
  }
  if (!(options.timeout_seconds > 0)) {
    invalid_argument(
        fmt::format("distributed.initialize: timeout must be a positive number of seconds, got {}",
                    options.timeout_seconds));
  }
  std::unique_ptr<Processes> opened(open(options));
  job.was_opened = true;
  try {
    for (const detail::DeviceSharing share : job.shares) share(*opened);
  } catch (const std::exception& error) {
    opened->close(error.what());
    throw;
  }
  job.processes.store(opened.release(), std::memory_order_release);
}

void open_processes(const std::string& library, const ProcessOptions& options) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* symbol = handle ? dlsym(handle, kOpenProcesses) : nullptr;
  if (!symbol) {
    const char* reason = dlerror();
    throw Error(ErrorCode::kUnavailable,
                fmt::format("distributed.initialize: the library that speaks MPI cannot be loaded: "
                            "{}. It is built where CMake finds MPI: install it (Debian: "
                            "apt-get install libopenmpi-dev openmpi-bin) and install farcall again",
                            reason ? reason : library));
  }
  open_processes(reinterpret_cast<OpenProcesses*>(symbol), options);
}

void close_processes(std::string_view why) noexcept {
  Job& job = Job::instance();
  const std::lock_guard lock(job.mutex);
  // Not deleted: another thread may still use it.
  if (Processes* open = job.processes.exchange(nullptr)) open->close(why);
}

namespace {
std::atomic<Waiter> installed_waiter{nullptr};
}  // namespace

void set_waiter(Waiter waiter) { installed_waiter.store(waiter, std::memory_order_release); }

void wait_for_processes(const std::function<void()>& work) {
  const Waiter waiter = installed_waiter.load(std::memory_order_acquire);
  if (waiter) {
    waiter(work);
  } else {
    work();
  }
}

void detail::add_device_sharing(DeviceSharing share) { Job::instance().shares.push_back(share); }

}  // namespace farcall
