// What belongs to the process and to the calling thread, and what a call must leave as it was.
#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <array>
#include <exception>
#include <map>
#include <new>
#include <optional>
#include <string>

namespace farcall::tools {

// Makes the standard input one that the handler can read, so that it shows whether it does.
void set_readable_input();

// The open files of the process before it loads the handler. The handler must neither close nor
// replace them, and must not read from the standard input.
class OpenFiles {
 public:
  // Remembers the files, and keeps a copy of each descriptor.
  OpenFiles();
  ~OpenFiles();
  OpenFiles(const OpenFiles&) = delete;
  OpenFiles& operator=(const OpenFiles&) = delete;
  // Sets the remembered state. Returns what was different; empty if nothing was.
  std::string restore() const;

 private:
  struct File {
    struct stat status;
    int copy;  // -1: there is none
  };
  std::map<int, File> files_;
};

// The rest: the current directory, the locale, signals, limits, environment variables and so on.
// For calls while no other thread calls the handler.
class ProcessState {
 public:
  // Remembers the state.
  ProcessState();
  // Sets the remembered state. Returns what was different; empty if nothing was.
  std::string restore() const;

 private:
  static constexpr int kNumSignals = 32;

  // Each returns what was different; empty if nothing was.
  std::string restore_signals() const;
  std::string restore_environment() const;
  std::string restore_limits() const;
  std::string restore_thread() const;

  std::string directory_, locale_;
  std::array<struct sigaction, kNumSignals> actions_;
  sigset_t blocked_;
  std::map<std::string, std::string> variables_;
  mode_t mask_;
  std::array<rlimit, RLIMIT_NLIMITS> limits_;
  std::optional<cpu_set_t> processors_;
  int priority_;
  std::terminate_handler terminate_;
  std::new_handler new_handler_;
};

}  // namespace farcall::tools
