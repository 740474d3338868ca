#include "tools/check/disturbance.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <vector>

#include "tools/check/data.h"

namespace farcall::tools {
namespace {

constexpr long kMomentNanoseconds = 20000;
constexpr useconds_t kPauseMicroseconds = 30;

void wait_a_moment(int) {
  const timespec moment = {0, kMomentNanoseconds};
  nanosleep(&moment, nullptr);
}

// Never uninstalled, because a signal may arrive late.
void install_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_handler = wait_a_moment;
    action.sa_flags = SA_RESTART | SA_ONSTACK;  // the thread's own stack is not changed
    sigaction(SIGUSR2, &action, nullptr);
  });
}

// Looked up each time, because handlers start and end threads.
std::vector<pid_t> other_threads() {
  std::vector<pid_t> threads;
  const auto own = static_cast<pid_t>(syscall(SYS_gettid));
  std::error_code error;
  for (std::filesystem::directory_iterator task("/proc/self/task", error), end;
       !error && task != end; task.increment(error)) {
    const std::string name = task->path().filename().string();
    pid_t id = 0;
    std::from_chars(name.data(), name.data() + name.size(), id);
    if (id != 0 && id != own) threads.push_back(id);
  }
  return threads;
}

}  // namespace

Disturbance::Disturbance(uint64_t seed) {
  install_once();
  thread_ = std::thread([this, seed] {
    Random random(seed);
    while (!is_over_) {
      const auto threads = other_threads();
      if (!threads.empty())
        syscall(SYS_tgkill, getpid(), threads[random.next() % threads.size()], SIGUSR2);
      usleep(kPauseMicroseconds);
    }
  });
}

Disturbance::~Disturbance() {
  is_over_ = true;
  thread_.join();
}

}  // namespace farcall::tools
