#include "tools/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "tools/child.h"

namespace farcall::tools {
namespace {

bool has_colours() {
  const char* none = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) && (none == nullptr || *none == '\0') &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

}  // namespace

std::string styled(Style style, std::string_view text) {
  static const bool is_coloured = has_colours();
  if (!is_coloured) return std::string(text);
  const int code = style == Style::kBold    ? 1
                   : style == Style::kRed   ? 31
                   : style == Style::kGreen ? 32
                   : style == Style::kDim   ? 2
                                            : 33;
  return fmt::format("\033[{}m{}\033[0m", code, text);
}

Progress::Progress(bool is_wanted)
    : is_shown_(is_wanted && isatty(STDERR_FILENO)), begin_(now_seconds()) {}

void Progress::show(std::string_view what, double done, double total, size_t count,
                    std::string_view things) {
  const double now = now_seconds();
  if (!is_shown_ || now - last_ < 0.1) return;
  last_ = now;
  const double elapsed = std::max(now - begin_, 1e-3);
  const double share = total > 0 ? std::clamp(done / total, 0.0, 1.0) : 0;
  constexpr int kWidth = 20;
  const int filled = static_cast<int>(share * kWidth);
  fmt::print(stderr, "\r\033[K{} [{:=<{}}{: <{}}] {:3.0f}%", what, "", filled, "", kWidth - filled,
             share * 100);
  if (share > 0) {
    fmt::print(stderr, "  {:.0f} {}/s  {:.0f} s left", static_cast<double>(count) / elapsed, things,
               elapsed * (1 - share) / share);
  }
  std::fflush(stderr);
}

void Progress::clear() {
  if (!is_shown_ || last_ == 0) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  last_ = 0;
}

}  // namespace farcall::tools
