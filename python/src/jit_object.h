// jit and related functions: Python functions as programs.
#pragma once

#include <nanobind/nanobind.h>

namespace farcall::python {

namespace nb = nanobind;

// Adds JitFunction, Lowered, Compiled, and the implementations of make_jaxpr and eval_shape.
void bind_jit(nb::module_& module);

}  // namespace farcall::python
