// Python functions as callbacks: how their arguments are built and how results and exceptions are
// converted.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include <farcall/ops/callback.h>
#include <farcall/program/program.h>

#include "tree.h"

namespace farcall::python {

namespace nb = nanobind;

// A function with the structure of its arguments and result. Owned by callbacks, which may be
// released on any thread; the Python objects are released under the interpreter lock.
struct PythonFunction {
  CallbackKind kind;
  nb::object function;
  std::string name;
  TreeDef arguments;                     // of (positional arguments, keyword arguments)
  std::optional<TreeDef> result;         // empty for a debug callback, whose result is ignored
  std::vector<ShapeDtype> result_types;  // as declared
  std::vector<std::pair<size_t, nb::object>> statics;  // nonarray leaves, with index
  SourceLocationPtr where;                             // of the user's call; may be null
  nb::object python_name = {};                         // of a buffer callback: the name as a str
  bool is_plain = false;                               // positional arrays only
  bool is_command_buffer_compatible = false;
  mutable const Callback* callback = nullptr;  // the callback that calls it
  mutable bool has_warned = false;             // about results that it did not write
  mutable bool keeps_views = false;            // of Buffers, after a call
};

// Raises KeyboardInterrupt if the user pressed Ctrl-C. Running programs poll this.
void check_signals();

// The name of a function in messages.
std::string name_of_function(nb::handle function);

CallbackPtr make_python_callback(PythonFunction function);
// The function of a callback; null if it is not a Python callback. The caller holds the interpreter
// lock.
const PythonFunction* find_python_function(const Callback* callback);

}  // namespace farcall::python
