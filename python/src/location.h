// The user's line: the innermost Python frame that is not farcall's own.
#pragma once

#include <nanobind/nanobind.h>

namespace farcall::python {

namespace nb = nanobind;

// Installs the provider of source locations for equations; adds the functions that open and close
// named scopes.
void bind_location(nb::module_& module);

// The stack level of the user's line, counted from 1, as for warnings.
int user_stack_level();

}  // namespace farcall::python
