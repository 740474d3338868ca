// The callable that ffi_call returns in Python.
#pragma once

#include <nanobind/nanobind.h>

namespace farcall::python {

namespace nb = nanobind;

// Adds FfiCall and its factory function.
void bind_ffi_call(nb::module_& module);

}  // namespace farcall::python
