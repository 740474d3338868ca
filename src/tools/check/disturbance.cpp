#include "tools/check/disturbance.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <mutex>

#include "tools/check/data.h"

namespace farcall::tools {
namespace {

constexpr long kMomentNanoseconds = 20000;
constexpr useconds_t kPauseMicroseconds = 30;

// Of one Interruptions. The time that the thread runs between two of them is in nanoseconds.
constexpr int kMostInterruptions = 30;
constexpr long kLeastInterval = 5000, kMostInterval = 50000;

thread_local timer_t t_timer;
thread_local volatile int t_interruptions_left = 0;
thread_local volatile long t_interval = 0;

void start_timer() {
  const itimerspec times = {.it_interval = {}, .it_value = {0, t_interval}};
  timer_settime(t_timer, 0, &times, nullptr);
}

void wait_a_moment(int, siginfo_t* info, void*) {
  const bool is_timer = info->si_code == SI_TIMER;
  if (is_timer && t_interruptions_left == 0) return;
  const timespec moment = {0, kMomentNanoseconds};
  nanosleep(&moment, nullptr);
  if (!is_timer) return;
  // Starting it here lets the thread make progress however long a signal takes.
  t_interruptions_left = t_interruptions_left - 1;
  if (t_interruptions_left > 0) start_timer();
}

// Never uninstalled, because a signal may arrive late.
void install_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = wait_a_moment;
    action.sa_flags =
        SA_SIGINFO | SA_RESTART | SA_ONSTACK;  // the thread's own stack is not changed
    sigaction(SIGUSR2, &action, nullptr);
  });
}

}  // namespace

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

Disturbance::Disturbance(uint64_t seed) {
  install_once();
  thread_ = std::thread([this, seed] {
    Random random(seed);
    while (!is_over_) {
      // Looked up each time, because handlers start and end threads.
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

Interruptions::Interruptions(uint64_t seed) {
  install_once();
  struct sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGUSR2;
  event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
  has_timer_ = timer_create(CLOCK_MONOTONIC, &event, &t_timer) == 0;
  if (!has_timer_) return;  // a race is only less likely to show
  t_interval =
      kLeastInterval + static_cast<long>(Random(seed).uniform() * (kMostInterval - kLeastInterval));
  t_interruptions_left = kMostInterruptions;
  start_timer();
}

Interruptions::~Interruptions() {
  if (!has_timer_) return;
  t_interruptions_left = 0;
  timer_delete(t_timer);
}

}  // namespace farcall::tools
