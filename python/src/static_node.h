// Static arguments as nodes of a tree, so that they are part of a call's signature.
#pragma once

#include <nanobind/nanobind.h>

#include <farcall/trace/tree_def.h>

namespace farcall::python {

// True for values whose comparison runs no user code.
bool is_plain(PyObject* object);

// True if two static arguments give the same program. 1, 1.0 and True are equal in Python but give
// different programs, and so do 0.0 and -0.0, and tuples of these. If user code may not run, equal
// objects that are not plain count as different.
bool make_same_program(PyObject* a, PyObject* b, bool may_run_code);

// The node of a hashable object. Two nodes are equal if their objects give the same program.
TreeDef static_node(nanobind::object value);

}  // namespace farcall::python
