// Between C++ exceptions and Python's.
#pragma once

#include <nanobind/nanobind.h>

namespace farcall::python {

namespace nb = nanobind;

// Adds the exception classes to the module and the translation of farcall::Error.
void bind_errors(nb::module_& module);

// Sets the Python error for the C++ exception that is being handled. For functions that CPython
// calls directly: `catch (...) { set_python_error(); return nullptr; }`.
void set_python_error();

}  // namespace farcall::python
