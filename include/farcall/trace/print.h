// Arrays on C++ streams.
#pragma once

#include <ostream>

#include <farcall/core/export.h>
#include <farcall/trace/array.h>

namespace farcall {

// Writes array.to_string().
FARCALL_API std::ostream& operator<<(std::ostream& out, const Array& array);

}  // namespace farcall
