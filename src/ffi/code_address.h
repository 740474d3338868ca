// Whether an address can be called.
#pragma once

namespace farcall::runtime {

// False if the memory at the address is known to hold no code: it is data, or not mapped. True if
// the platform does not tell.
bool may_be_code(const void* address);

}  // namespace farcall::runtime
