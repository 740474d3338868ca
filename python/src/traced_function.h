// A Python function over pytrees as a flat function over arrays.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <farcall/program/program.h>
#include <farcall/trace/array.h>

#include "tree.h"

namespace farcall::python {

// Which arguments of a function are not arrays but constants of the program.
struct StaticArguments {
  std::vector<int64_t> numbers;    // positions, not negative
  std::vector<std::string> names;  // of keyword arguments
};

// One call's arguments, sorted out.
struct CallArguments {
  std::vector<nb::object> positional;  // all; static ones as they came, others null
  std::vector<bool> is_static;         // by position
  nb::dict static_keywords;
  TreeDefPtr tree;  // of (dynamic positional…, dynamic keywords)
  std::vector<nb::object> leaves;
};

// Raises TypeError for unhashable static arguments.
CallArguments sort_arguments(const std::string& name, const StaticArguments& statics,
                             PyObject* const* args, size_t nargs, PyObject* kwnames);

// The leaves as arrays; raises TypeError with the path of the leaf that is none.
std::vector<Array> leaves_to_arrays(const std::string& name, const CallArguments& arguments);
// The leaves' types; leaves may be arrays, numbers, or have .shape and .dtype.
std::vector<ShapeDtype> leaves_to_types(const std::string& name, const CallArguments& arguments);

struct TracedProgram {
  ProgramPtr program;
  TreeDefPtr result_tree;
};
// Records `function` on arrays of these types in place of the leaves.
TracedProgram trace(nb::handle function, const std::string& name, const CallArguments& arguments,
                    std::span<const ShapeDtype> types);

}  // namespace farcall::python
