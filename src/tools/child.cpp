#include "tools/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tools/failure.h"

namespace farcall::tools {

double now_seconds() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

void be_silent() {
  const int null = open("/dev/null", O_RDWR);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, fd);
  close(null);
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // the reader has closed the pipe
    text.remove_prefix(static_cast<size_t>(count));
  }
}

std::string signal_text(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "segmentation fault";
    case SIGBUS:
      return "bus error";
    case SIGFPE:
      return "division by zero (SIGFPE)";
    case SIGILL:
      return "illegal instruction";
    case SIGABRT:
      return "abort";
    default:
      return fmt::format("signal {} ({})", signal, strsignal(signal));
  }
}

Child::Child(const std::function<void(int fd)>& work) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Failure(kCouldNotRun, "cannot create a pipe.");
  std::fflush(nullptr);
  pid_ = fork();
  if (pid_ < 0) throw Failure(kCouldNotRun, "cannot start a process.");
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    work(ends[1]);
    _exit(0);
  }
  close(ends[1]);
  fd_ = ends[0];
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), fd_(std::exchange(other.fd_, -1)) {}

Child::~Child() {
  if (pid_ > 0) wait(0);
}

ChildResult Child::wait(double timeout_seconds) {
  ChildResult result;
  const double end = now_seconds() + timeout_seconds;
  char buffer[1 << 14];
  while (true) {
    const double left = end - now_seconds();
    pollfd state = {.fd = fd_, .events = POLLIN, .revents = 0};
    const int ready = left > 0 ? poll(&state, 1, static_cast<int>(left * 1000) + 1) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      result.is_timed_out = true;
      kill(pid_, SIGKILL);
      break;
    }
    const ssize_t count = read(fd_, buffer, sizeof(buffer));
    if (count <= 0) break;
    result.output.append(buffer, static_cast<size_t>(count));
  }
  close(fd_);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status) && !result.is_timed_out) result.signal = WTERMSIG(status);
  return result;
}

ChildResult run_in_child(const std::function<void(int fd)>& work, double timeout_seconds) {
  return Child(work).wait(timeout_seconds);
}

ChildResult run_program(const std::vector<std::string>& arguments, double timeout_seconds,
                        bool with_errors) {
  return run_in_child(
      [&](int fd) {
        dup2(fd, STDOUT_FILENO);
        const int null = open("/dev/null", O_RDWR);
        dup2(null, STDIN_FILENO);
        dup2(with_errors ? fd : null, STDERR_FILENO);
        std::vector<char*> argv;
        for (const std::string& argument : arguments)
          argv.push_back(const_cast<char*>(argument.c_str()));
        argv.push_back(nullptr);
        execvp(argv[0], argv.data());
        _exit(127);
      },
      timeout_seconds);
}

double waited_seconds(int pid) {
  double most = 0;
  std::error_code ignored;
  std::filesystem::directory_iterator task(fmt::format("/proc/{}/task", pid), ignored);
  for (; task != std::filesystem::directory_iterator(); task.increment(ignored)) {
    std::ifstream file(task->path() / "schedstat");  // nanoseconds: running, waiting
    double running = 0, waiting = 0;
    if (file >> running >> waiting) most = std::max(most, waiting * 1e-9);
  }
  return most;
}

double processor_seconds_of_children() {
  rusage usage;
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace farcall::tools
