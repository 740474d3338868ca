// What the command writes to a terminal: colours where they are wanted, and a line of progress.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace farcall::tools {

enum class Style { kBold, kRed, kGreen, kYellow, kDim };

// The text in this style if standard output is a terminal and NO_COLOR is not set, else as it is.
std::string styled(Style style, std::string_view text);

// One line on standard error that is written over again and again; nothing unless that is a
// terminal. Cleared when it goes.
class Progress {
 public:
  explicit Progress(bool is_wanted = true);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` of `total` steps; `count` things so far, whose rate is shown.
  void show(std::string_view what, double done, double total, size_t count,
            std::string_view things);
  void clear();

 private:
  bool is_shown_;
  double begin_;
  double last_ = 0;
};

}  // namespace farcall::tools
