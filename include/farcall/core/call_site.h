// CallSite: the user's line, as the default of a parameter. std::source_location is missing in
// Clang before version 16.
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
