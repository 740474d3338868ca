// Work in a process of its own, which may crash, hang or end as it likes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace farcall::tools {

struct ChildResult {
  std::string output;         // what it wrote
  int exit_code = 0;          // 0 unless it ended by itself with another
  int signal = 0;             // that ended it; 0 for none
  bool is_timed_out = false;  // killed because it took too long
  bool is_fine() const { return exit_code == 0 && signal == 0 && !is_timed_out; }
};

// Forks; the child runs `work` with a descriptor to write to, and ends. The caller has one thread.
class Child {
 public:
  explicit Child(const std::function<void(int fd)>& work);
  Child(Child&& other) noexcept;
  ~Child();  // kills it if nobody waited

  ChildResult wait(double timeout_seconds);

 private:
  int pid_ = -1;
  int fd_ = -1;
};

ChildResult run_in_child(const std::function<void(int fd)>& work, double timeout_seconds);

// A program with its arguments; standard output is the output, standard error is dropped unless
// `with_errors`.
ChildResult run_program(const std::vector<std::string>& arguments, double timeout_seconds,
                        bool with_errors = false);

// The calling process writes nothing to its standard output and error from now on.
void be_silent();

void write_all(int fd, std::string_view text);

// "segmentation fault", "abort"
std::string signal_text(int signal);

double now_seconds();

}  // namespace farcall::tools
