// The modes of this thread's floating-point arithmetic, which a call must leave as they were: code
// that runs later would compute other results.
#pragma once

#include <string>

namespace farcall::tools {

class FloatingPointMode {
 public:
  // Remembers the modes.
  FloatingPointMode();
  // Sets the remembered modes. Returns what was different; empty if nothing was.
  std::string restore() const;

 private:
  int rounding_;
  unsigned control_;  // of the vector unit
};

}  // namespace farcall::tools
