// Errors of calls whose arguments do not fit, in words.
#pragma once

#include <nanobind/nanobind.h>

namespace farcall::python {

namespace nb = nanobind;

// From now on the functions and methods of the module, and of the modules in it, raise errors that
// name the argument that does not fit, what was wanted and what came (farcall/_argument_errors.py),
// in place of the binding library's list of signatures.
void explain_argument_errors(nb::module_& module);

}  // namespace farcall::python
