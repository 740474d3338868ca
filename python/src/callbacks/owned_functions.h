// For Python's cycle collector: the functions that programs hold through their callbacks.
#pragma once

#include <Python.h>

#include <memory>
#include <span>

#include <farcall/program/engine.h>
#include <farcall/program/program.h>

namespace farcall::python {

// What somebody holds of a program: one reference to each.
struct HeldProgram {
  const ProgramPtr& program;
  std::span<const std::shared_ptr<const Executable>> executables;
};

// Visits the functions of callbacks that live as long as these references and no longer: everything
// between them and the callback is held by nothing else. Others are left out, so that the collector
// takes them for held from outside. A traverse function's result.
int visit_owned_functions(std::span<const HeldProgram> held, visitproc visit, void* arg);

}  // namespace farcall::python
