#include "tools/check/disturbance.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <mutex>

#include "tools/check/data.h"
#include "tools/child.h"

namespace farcall::tools {
void wait_in(Pause& pause);

namespace {

constexpr long kMomentNanoseconds = 20000;
constexpr useconds_t kPauseMicroseconds = 30;

// Of one Interruptions. The time that the thread runs between two of them is in nanoseconds.
constexpr int kMostInterruptions = 30;
constexpr long kLeastInterval = 5000, kMostInterval = 50000;

constexpr double kMostSecondsOfPause = 0.01;
// A timer's signal arrives later than it is due, by some 15 µs, in virtual machines by more.
constexpr double kDelayOfSignal = 2e-5, kRunUp = 5e-5;

thread_local timer_t t_timer;
thread_local Pause* volatile t_pause = nullptr;
thread_local volatile int t_interruptions_left = 0;
thread_local volatile long t_interval = 0;

void start_timer(long nanoseconds) {
  constexpr long kSecond = 1'000'000'000;
  const itimerspec times = {.it_interval = {},
                            .it_value = {nanoseconds / kSecond, nanoseconds % kSecond}};
  timer_settime(t_timer, 0, &times, nullptr);
}

void sleep_a_moment() {
  const timespec moment = {0, kMomentNanoseconds};
  nanosleep(&moment, nullptr);
}

void wait_a_moment(int, siginfo_t* info, void*) {
  const bool is_timer = info->si_code == SI_TIMER;
  if (Pause* pause = t_pause; is_timer && pause) return wait_in(*pause);
  if (is_timer && t_interruptions_left == 0) return;
  sleep_a_moment();
  if (!is_timer) return;
  // Starting it here lets the thread make progress however long a signal takes.
  t_interruptions_left = t_interruptions_left - 1;
  if (t_interruptions_left > 0) start_timer(t_interval);
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

// Makes a timer that signals the calling thread. Returns false if there is none; a race is then
// only less likely to show.
bool make_timer() {
  install_once();
  struct sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGUSR2;
  event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
  return timer_create(CLOCK_MONOTONIC, &event, &t_timer) == 0;
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

Interruptions::Interruptions(uint64_t seed) : has_timer_(make_timer()) {
  if (!has_timer_) return;
  t_interval =
      kLeastInterval + static_cast<long>(Random(seed).uniform() * (kMostInterval - kLeastInterval));
  t_interruptions_left = kMostInterruptions;
  start_timer(t_interval);
}

Interruptions::~Interruptions() {
  if (!has_timer_) return;
  t_interruptions_left = 0;
  timer_delete(t_timer);
}

Pause::Pause(double seconds, std::atomic<bool>& has_begun, const std::atomic<bool>& is_over)
    : seconds_(seconds), has_begun_(has_begun), is_over_(is_over), has_timer_(make_timer()) {
  t_pause = this;
}

Pause::~Pause() {
  t_pause = nullptr;
  if (has_timer_) timer_delete(t_timer);
}

void Pause::start() {
  if (start_ != 0) return;
  start_ = now_seconds() + kRunUp;
  if (has_timer_) start_timer(static_cast<long>((kRunUp - kDelayOfSignal + seconds_) * 1e9));
  while (now_seconds() < start_) {
  }
}

double Pause::seconds_since_start() const { return now_seconds() - start_; }

void start_pause() {
  if (Pause* pause = t_pause) pause->start();
}

// In a signal handler.
void wait_in(Pause& pause) {
  const double end = now_seconds() + kMostSecondsOfPause;
  pause.has_begun_ = true;
  while (!pause.is_over_ && now_seconds() < end) sleep_a_moment();
}

void wait_for(const std::atomic<bool>& flag) {
  while (!flag) sleep_a_moment();
}

}  // namespace farcall::tools
