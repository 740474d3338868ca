// C++ names of symbols.
#pragma once

#include <string>

#include <farcall/core/export.h>

namespace farcall {

// The C++ name of a symbol such as "_ZN3foo3barEv". Other symbols are returned unchanged.
FARCALL_API std::string demangled(const std::string& symbol);

}  // namespace farcall
