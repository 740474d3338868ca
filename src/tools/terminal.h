// Output to a terminal: colours if supported, and a progress line.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace farcall::tools {

enum class Style { kBold, kRed, kGreen, kYellow, kDim };

// The text in this style if standard output is a terminal with colours and NO_COLOR is not set,
// else unchanged.
std::string styled(Style style, std::string_view text);

// A line on standard error that is overwritten repeatedly. Prints nothing unless that is a
// terminal. The destructor clears the line.
class Progress {
 public:
  explicit Progress(bool is_wanted = true);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Shows that `done` of `total` steps are done, and how many `things` there are so far, with their
  // rate.
  void show(std::string_view what, double done, double total, size_t count,
            std::string_view things);
  void clear();

 private:
  bool is_shown_;
  double begin_;
  double last_ = 0;
};

}  // namespace farcall::tools
