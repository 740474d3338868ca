// Functions of the core that look like Python functions: with a name, a signature and a docstring.
#pragma once

#include <nanobind/nanobind.h>

namespace farcall::python {

namespace nb = nanobind;

// Adds the class and its factory function.
void bind_documented_function(nb::module_& module);

}  // namespace farcall::python
