// Arrays on C++ streams.
#pragma once

#include <ostream>

#include <farcall/core/export.h>
#include <farcall/trace/array.h>

namespace farcall {

// Values for a concrete array, else its type: what Array::to_string() gives.
FARCALL_API std::ostream& operator<<(std::ostream& out, const Array& array);

}  // namespace farcall
