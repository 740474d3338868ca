// jit and its relatives: Python functions as programs.
#pragma once

#include <nanobind/nanobind.h>

namespace farcall::python {

namespace nb = nanobind;

// Adds JitFunction, Lowered, Compiled, and the functions behind make_jaxpr and eval_shape.
void bind_jit(nb::module_& module);

}  // namespace farcall::python
