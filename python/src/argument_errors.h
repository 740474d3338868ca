// Readable errors for calls with wrong arguments.
#pragma once

#include <nanobind/nanobind.h>

namespace farcall::python {

namespace nb = nanobind;

// Replaces the vectorcall of the functions and methods of the module and its submodules: a
// TypeError then names the argument that does not fit, what was expected and what was passed
// (farcall/_argument_errors.py), instead of nanobind's list of signatures.
void explain_argument_errors(nb::module_& module);

}  // namespace farcall::python
