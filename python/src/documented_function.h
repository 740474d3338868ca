// Functions of the core as Python shows its own: with a name, a signature and a docstring.
#pragma once

#include <nanobind/nanobind.h>

namespace farcall::python {

namespace nb = nanobind;

// Adds the class and the function that makes one.
void bind_documented_function(nb::module_& module);

}  // namespace farcall::python
