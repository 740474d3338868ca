// Static arguments as nodes of a tree, so that a call's signature holds them.
#pragma once

#include <nanobind/nanobind.h>

#include <farcall/trace/tree_def.h>

namespace farcall::python {

// Values that Python compares without code of users.
bool is_plain(PyObject* object);

// Whether two static arguments make the same program. 1, 1.0 and True, and 0.0 and -0.0, are equal
// to Python, but make different ones; so do tuples of them. Unless code of users may run, equal
// objects that are not plain count as different.
bool make_same_program(PyObject* a, PyObject* b, bool may_run_code);

// Of a hashable object. Two nodes are equal if their objects make the same program.
TreeDef static_node(nanobind::object value);

}  // namespace farcall::python
