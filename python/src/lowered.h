// What jit(f).lower(...) and its compile() give.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <farcall/program/engine.h>
#include <farcall/program/program.h>
#include <farcall/trace/array.h>

#include "traced_function.h"
#include "tree.h"

namespace farcall::python {

// A recorded program with the structure of the function's arguments and result.
struct Lowered {
  ProgramPtr program;
  TreeDef result_tree;
  std::string where;  // "jit(f)"
  StaticArguments statics;
  TreeDef argument_tree;           // of (positional arguments, keyword arguments)
  std::vector<bool> donated;       // by leaf; empty: none
  const Device* device = nullptr;  // null: the default, when it is compiled
};

nb::object run_executable(const Executable& executable, const TreeDef& result_tree,
                          std::span<const Array> inputs, bool is_committed);

// What compiling did for the foreign calls (bind_report.cpp).
nb::object report_object(const Executable& executable);

// Adds Lowered and Compiled.
void bind_lowered(nb::module_& module);

}  // namespace farcall::python
