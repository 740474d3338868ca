// The user's line: the innermost Python frame that is not farcall's own.
#pragma once

#include <nanobind/nanobind.h>

namespace farcall::python {

namespace nb = nanobind;

// Makes the core ask Python where an equation comes from; adds the functions that open and close
// named scopes.
void bind_location(nb::module_& module);

// How many frames up the user's line is, counted from 1 as warnings count.
int user_stack_level();

}  // namespace farcall::python
