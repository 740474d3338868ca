// The user's line: the innermost Python frame that is not farcall's own.
#pragma once

namespace farcall::python {

// Makes the core ask Python where an equation comes from.
void install_location_provider();

}  // namespace farcall::python
