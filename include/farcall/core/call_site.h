// CallSite: the user's source line, as a default argument. Clang before version 16 has no
// std::source_location.
#pragma once

namespace farcall {

struct CallSite {
  const char* file;
  int line;
  const char* function;

  static constexpr CallSite current(const char* file = __builtin_FILE(),
                                    int line = __builtin_LINE(),
                                    const char* function = __builtin_FUNCTION()) {
    return {file, line, function};
  }
};

}  // namespace farcall
