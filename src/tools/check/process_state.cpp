#include "tools/check/process_state.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "tools/check/signals.h"
#include "tools/child.h"

extern char** environ;

namespace farcall::tools {
namespace {

// Files above are not looked at; copies of descriptors have higher numbers.
constexpr int kNumFiles = 128, kLeastCopy = 500;

using Resource = decltype(RLIMIT_NOFILE);  // an enumeration or an integer

std::string file_name(int file) {
  switch (file) {
    case STDIN_FILENO:
      return "the standard input";
    case STDOUT_FILENO:
      return "the standard output";
    case STDERR_FILENO:
      return "the standard error stream";
    default:
      return fmt::format("the file descriptor {}, which it did not open,", file);
  }
}

std::string current_directory() {
  std::error_code ignored;
  return std::filesystem::current_path(ignored);
}

std::string current_locale() {
  const char* locale = std::setlocale(LC_ALL, nullptr);
  return locale ? locale : "";
}

bool is_same(const struct sigaction& a, const struct sigaction& b) {
  return a.sa_handler == b.sa_handler;  // also compares sa_sigaction, which has the same place
}

// Libraries keep marks for themselves in variables whose names begin with an underscore.
std::map<std::string, std::string> current_variables() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos || text.starts_with('_')) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

mode_t current_mask() {
  const mode_t mask = umask(0);
  umask(mask);
  return mask;
}

std::optional<cpu_set_t> current_processors() {
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof(processors), &processors) != 0) return std::nullopt;
  return processors;
}

int current_priority() { return getpriority(PRIO_PROCESS, 0); }

// Whether a timer was running. Stops it.
bool stop_timers() {
  bool is_running = false;
  for (const auto which : {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF}) {
    itimerval timer = {};
    getitimer(which, &timer);
    if (timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0) continue;
    is_running = true;
    const itimerval none = {};
    setitimer(which, &none, nullptr);
  }
  return is_running;
}

}  // namespace

OpenFiles::OpenFiles() {
  for (int file = 0; file < kNumFiles; ++file) {
    struct stat status = {};
    if (fstat(file, &status) != 0) continue;
    files_[file] = {.status = status, .copy = fcntl(file, F_DUPFD_CLOEXEC, kLeastCopy)};
  }
}

OpenFiles::~OpenFiles() {
  for (const auto& [number, file] : files_) {
    if (file.copy >= 0) close(file.copy);
  }
}

std::string OpenFiles::restore() const {
  std::string changed;
  for (const auto& [number, file] : files_) {
    struct stat status = {};
    const bool is_open = fstat(number, &status) == 0;
    if (is_open && status.st_dev == file.status.st_dev && status.st_ino == file.status.st_ino)
      continue;
    changed = fmt::format("{} {}", file_name(number), is_open ? "replaced" : "closed");
    if (file.copy >= 0) dup2(file.copy, number);
  }
  if (!changed.empty()) return changed;
  if (lseek(STDIN_FILENO, 0, SEEK_CUR) > 0) {
    changed = "the position in the standard input changed";
    lseek(STDIN_FILENO, 0, SEEK_SET);
  }
  return changed;
}

ProcessState::ProcessState()
    : directory_(current_directory()),
      locale_(current_locale()),
      variables_(current_variables()),
      mask_(current_mask()),
      processors_(current_processors()),
      priority_(current_priority()),
      terminate_(std::get_terminate()),
      new_handler_(std::get_new_handler()) {
  for (int i = 1; i < kNumSignals; ++i) sigaction(i, nullptr, &actions_[static_cast<size_t>(i)]);
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked_);
  for (size_t i = 0; i < limits_.size(); ++i) getrlimit(static_cast<Resource>(i), &limits_[i]);
}

std::string ProcessState::restore() const {
  if (signals::is_ending()) return "";
  std::string changed;
  if (current_directory() != directory_) {
    changed = "the current directory changed";
    static_cast<void>(chdir(directory_.c_str()));
  }
  if (current_locale() != locale_) {
    changed = "the locale changed";
    std::setlocale(LC_ALL, locale_.c_str());
  }
  if (current_mask() != mask_) {
    changed = "the mask of file permissions (umask) changed";
    umask(mask_);
  }
  if (std::get_terminate() != terminate_) {
    changed = "the handler of std::terminate changed";
    std::set_terminate(terminate_);
  }
  if (std::get_new_handler() != new_handler_) {
    changed = "the handler of failing allocations (std::set_new_handler) changed";
    std::set_new_handler(new_handler_);
  }
  for (const std::string& found :
       {restore_signals(), restore_environment(), restore_limits(), restore_thread()}) {
    if (!found.empty()) changed = found;
  }
  return changed;
}

std::string ProcessState::restore_signals() const {
  std::string changed;
  for (int i = 1; i < kNumSignals; ++i) {
    const struct sigaction& before = actions_[static_cast<size_t>(i)];
    struct sigaction now = {};
    if (sigaction(i, nullptr, &now) != 0 || is_same(now, before)) continue;
    changed = fmt::format("the action of signal {} changed", i);
    sigaction(i, &before, nullptr);
  }
  if (stop_timers()) changed = "a timer running (alarm, setitimer)";
  return changed;
}

std::string ProcessState::restore_environment() const {
  const auto now = current_variables();
  if (now == variables_) return "";
  std::string changed;
  for (const auto& [name, value] : now) {
    if (variables_.contains(name)) continue;
    changed = name;
    unsetenv(name.c_str());
  }
  for (const auto& [name, value] : variables_) {
    const auto found = now.find(name);
    if (found != now.end() && found->second == value) continue;
    changed = name;
    setenv(name.c_str(), value.c_str(), 1);
  }
  return fmt::format("the environment variable {} changed", changed);
}

std::string ProcessState::restore_limits() const {
  std::string changed;
  for (size_t i = 0; i < limits_.size(); ++i) {
    const auto resource = static_cast<Resource>(i);
    rlimit now = {};
    if (getrlimit(resource, &now) != 0) continue;
    if (now.rlim_cur == limits_[i].rlim_cur && now.rlim_max == limits_[i].rlim_max) continue;
    changed = "a limit of the process (setrlimit) changed";
    setrlimit(resource, &limits_[i]);
  }
  return changed;
}

std::string ProcessState::restore_thread() const {
  std::string changed;
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  for (int i = 1; i < kNumSignals; ++i) {
    if (sigismember(&blocked, i) == sigismember(&blocked_, i)) continue;
    changed = fmt::format("signal {} {}blocked", i, sigismember(&blocked, i) == 1 ? "" : "un");
    pthread_sigmask(SIG_SETMASK, &blocked_, nullptr);
  }
  const auto processors = current_processors();
  if (processors && processors_ && !CPU_EQUAL(&*processors, &*processors_)) {
    changed = "the processors on which the thread may run (sched_setaffinity) changed";
    sched_setaffinity(0, sizeof(*processors_), &*processors_);
  }
  if (current_priority() != priority_) {
    changed = "the thread's priority (nice) changed";
    setpriority(PRIO_PROCESS, 0, priority_);
  }
  return changed;
}

void set_readable_input() {
  const int input = memfd_create("input", MFD_CLOEXEC);
  write_all(input, "1 2 3 4 5 6 7 8\n");
  lseek(input, 0, SEEK_SET);
  dup2(input, STDIN_FILENO);
  close(input);
}

}  // namespace farcall::tools
