// ffi_call's callable in Python.
#pragma once

#include <nanobind/nanobind.h>

namespace farcall::python {

namespace nb = nanobind;

// Adds FfiCall and the function that makes one.
void bind_ffi_call(nb::module_& module);

}  // namespace farcall::python
