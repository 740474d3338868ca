// The results of jit(f).lower(...) and of its compile().
#pragma once

#include <nanobind/nanobind.h>

#include <farcall/program/engine.h>
#include <farcall/program/program.h>
#include <farcall/trace/array.h>
#include <farcall/trace/lowered.h>

#include "traced_function.h"
#include "tree.h"

namespace farcall::python {

// A recorded program with the trees of (positional arguments, keyword arguments) and of the result.
struct Lowered {
  farcall::detail::LoweredCall call;
  StaticArguments statics;
};

// The report of the compiler on a run (bind_report.cpp).
nb::object report_object(const DividedRun& run);

// Sets the shardings and the device that the call is lowered for: the requested shardings of the
// first leaves (None: not requested), else those of the arguments, which are arrays or
// ShapeDtypeStructs. Raises ValueError if they are on different devices.
void place_for(Lowered& lowered, const nb::list& in_shardings, const CallArguments& arguments);

// Adds Lowered and Compiled.
void bind_lowered(nb::module_& module);

}  // namespace farcall::python
