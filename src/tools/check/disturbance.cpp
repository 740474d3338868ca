#include "tools/check/disturbance.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <mutex>

#include "tools/check/data.h"
#include "tools/child.h"

namespace farcall::tools {
namespace {

constexpr long kMomentNanoseconds = 20000;
constexpr useconds_t kPauseMicroseconds = 30;

// Of one Interruptions. The time that the thread runs between two of them is in nanoseconds.
constexpr int kMostInterruptions = 30;
constexpr long kLeastInterval = 5000, kMostInterval = 50000;

// Of a stop: of all of it; of the other thread's sleep, after which it is taken to wait for a lock;
// and of its work, after which it is taken to spin.
constexpr double kMostSecondsOfStop = 1, kMostSecondsOfSleep = 0.003, kMostSecondsOfWork = 0.04;
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

// What the system says about a thread: whether it can run or is running, and for how long it ran.
struct ThreadProgress {
  bool is_running = true;
  long long nanoseconds = 0;
};

// Without the heap, whose locks a stopped thread may hold.
ThreadProgress progress_of(pid_t thread) {
  const auto read_file = [&](const char* name, char(&text)[512]) {
    char path[64];
    std::snprintf(path, sizeof(path), "/proc/self/task/%d/%s", thread, name);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t count = file < 0 ? 0 : read(file, text, sizeof(text) - 1);
    if (file >= 0) close(file);
    text[std::max<ssize_t>(count, 0)] = '\0';
    return count > 0;
  };
  ThreadProgress progress;
  char text[512];
  if (!read_file("stat", text)) return progress;
  const char* name_end = std::strrchr(text, ')');
  progress.is_running = !name_end || name_end[1] == '\0' || name_end[2] == 'R';
  if (read_file("schedstat", text)) std::from_chars(text, text + 20, progress.nanoseconds);
  return progress;
}

void wait_after_signal(const siginfo_t* info) {
  const bool is_timer = info->si_code == SI_TIMER;
  if (Pause* pause = t_pause; is_timer && pause) return pause->meeting().wait();
  if (is_timer && t_interruptions_left == 0) return;
  sleep_a_moment();
  if (!is_timer) return;
  // Starting it here lets the thread make progress however long a signal takes.
  t_interruptions_left = t_interruptions_left - 1;
  if (t_interruptions_left > 0) start_timer(t_interval);
}

void wait_a_moment(int, siginfo_t* info, void*) {
  const int error = errno;  // of the interrupted code
  wait_after_signal(info);
  errno = error;
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
  event._sigev_un._tid = thread_id();
  return timer_create(CLOCK_MONOTONIC, &event, &t_timer) == 0;
}

}  // namespace

std::vector<pid_t> other_threads() {
  std::vector<pid_t> threads;
  const pid_t own = thread_id();
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

Pause::Pause(double seconds, Meeting& meeting)
    : seconds_(seconds), meeting_(meeting), has_timer_(make_timer()) {
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

void Meeting::wait() {
  has_begun = true;
  const double begin = now_seconds();
  pid_t seen = 0;
  ThreadProgress first, last;  // of the thread that was seen
  double asleep_since = 0;
  while (!is_over) {
    sleep_a_moment();
    const double now = now_seconds();
    const pid_t thread = caller;
    const ThreadProgress progress = thread == 0 ? ThreadProgress() : progress_of(thread);
    if (thread != seen) first = progress;
    if (thread != seen || progress.is_running || progress.nanoseconds != last.nanoseconds)
      asleep_since = now;
    seen = thread;
    last = progress;
    const double work = 1e-9 * static_cast<double>(progress.nanoseconds - first.nanoseconds);
    if (now - asleep_since > kMostSecondsOfSleep || work > kMostSecondsOfWork ||
        now - begin > kMostSecondsOfStop)
      is_over = true;
  }
}

pid_t thread_id() { return static_cast<pid_t>(syscall(SYS_gettid)); }

void sleep_a_moment() {
  const timespec moment = {0, kMomentNanoseconds};
  nanosleep(&moment, nullptr);
}

}  // namespace farcall::tools
