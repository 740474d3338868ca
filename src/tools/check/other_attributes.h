// Attributes with other values, for the call of another executable.
#pragma once

#include <farcall/ffi/attribute.h>

namespace farcall::tools {

// The same attributes with other numbers of the types float and double. Other types are left as
// they are: integers may be sizes, axes and modes.
Attributes with_other_numbers(const Attributes& attributes);

}  // namespace farcall::tools
