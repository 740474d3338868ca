// Static arguments as nodes of a tree, so that a call's signature holds them.
#pragma once

#include <nanobind/nanobind.h>

#include <farcall/trace/tree_def.h>

namespace farcall::python {

// The object must be hashable. Two are equal if they make the same program: 1, 1.0 and True, and
// 0.0 and -0.0, are equal to Python, but make different ones; so do tuples of them.
TreeDef static_node(nanobind::object value);

}  // namespace farcall::python
