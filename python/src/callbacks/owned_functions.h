// Support for Python's cycle collector: the functions that programs hold through their callbacks.
#pragma once

#include <Python.h>

#include <memory>
#include <span>

#include <farcall/program/engine.h>
#include <farcall/program/program.h>

namespace farcall::python {

// The references that an object holds to a program: one to the program and one to each executable.
struct HeldProgram {
  const ProgramPtr& program;
  std::span<const std::shared_ptr<const Executable>> executables;
};

// Visits the functions of callbacks that are reachable only through these references. Callbacks
// that are also held elsewhere are skipped, so the collector treats them as externally referenced.
// Returns what a tp_traverse function returns.
int visit_owned_functions(std::span<const HeldProgram> held, visitproc visit, void* arg);

}  // namespace farcall::python
