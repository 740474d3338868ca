// The parts of the module, a file each.
#pragma once

#include <nanobind/nanobind.h>

namespace farcall::python {

namespace nb = nanobind;
using namespace nanobind::literals;

void bind_arrays(nb::module_& module);        // conversions that Array's Python side needs
void bind_ffi(nb::module_& module);           // registration of targets and types
void bind_lax(nb::module_& module);           // the primitives as functions
void bind_lax_arrays(nb::module_& module);    // those that work along dimensions
void bind_numpy(nb::module_& module);         // numpy's functions
void bind_numpy_arrays(nb::module_& module);  // those of order, parts and products
void bind_shape_dtype(nb::module_& module);   // ShapeDtypeStruct
void bind_program(nb::module_& module);       // Program and its text

}  // namespace farcall::python
