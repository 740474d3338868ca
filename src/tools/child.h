// Work in a separate process, which may crash, hang or exit.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace farcall::tools {

struct ChildResult {
  std::string output;         // what the child wrote
  int exit_code = 0;          // exit status, if it exited
  int signal = 0;             // the signal that ended it; 0: none
  bool is_timed_out = false;  // killed because it took too long
  bool is_fine() const { return exit_code == 0 && signal == 0 && !is_timed_out; }
};

// Forks; the child runs `work` with a file descriptor to write to, then ends. The calling process
// must have one thread.
class Child {
 public:
  explicit Child(const std::function<void(int fd)>& work);
  Child(Child&& other) noexcept;
  ~Child();  // kills the child unless wait() was called

  ChildResult wait(double timeout_seconds);

 private:
  int pid_ = -1;
  int fd_ = -1;
};

ChildResult run_in_child(const std::function<void(int fd)>& work, double timeout_seconds);

// Runs a program. Its standard output is the result's output; standard error is dropped, or
// included if `with_errors`.
ChildResult run_program(const std::vector<std::string>& arguments, double timeout_seconds,
                        bool with_errors = false);

// Redirects standard input, output and error of this process to /dev/null.
void be_silent();

void write_all(int fd, std::string_view text);

// The name of a signal: "segmentation fault", "abort".
std::string signal_text(int signal);

double now_seconds();
// The time that threads of the process were ready to run without a processor; the maximum over
// threads.
double waited_seconds(int pid);
// The processor time of all child processes that have ended.
double processor_seconds_of_children();

}  // namespace farcall::tools
