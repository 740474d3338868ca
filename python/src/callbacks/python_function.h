// Python functions as callbacks: how their arguments are put together and what becomes of their
// results and exceptions.
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

// A function with the structure of its arguments and result. Owned by callbacks, which die on any
// thread; its Python objects go under the interpreter lock.
struct PythonFunction {
  CallbackKind kind;
  nb::object function;
  std::string name;
  TreeDef arguments;                     // of (positional arguments, keyword arguments)
  std::optional<TreeDef> result;         // none for a debug callback, whose result is not looked at
  std::vector<ShapeDtype> result_types;  // as declared
  std::vector<std::pair<size_t, nb::object>> statics;  // leaves that are no arrays, by number
  SourceLocationPtr where;                             // of the user's call; may be null
  nb::object python_name = {};                         // the name as a str
  bool is_plain = false;                               // positional arrays only
  mutable const Callback* callback = nullptr;          // that calls it
  mutable bool has_warned = false;                     // of results that it did not write
};

// Raises KeyboardInterrupt when the user asked for it: what programs call now and then.
void check_signals();

// The name by which messages call a function.
std::string name_of_function(nb::handle function);

CallbackPtr make_python_callback(PythonFunction function);
// The function of a callback; null when it is none of Python's. The caller holds the interpreter
// lock.
const PythonFunction* find_python_function(const Callback* callback);

}  // namespace farcall::python
