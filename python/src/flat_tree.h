// Functions of pytrees as functions of flat lists: what loops, branches and solvers call.
#pragma once

#include <nanobind/nanobind.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <farcall/trace/array.h>

#include "tree.h"

namespace farcall::python {

namespace nb = nanobind;

// A pytree of arrays. A leaf of dtype float0 has a stand-in (float0.h).
struct FlatTree {
  TreeDef tree;
  std::vector<Array> arrays;

  std::vector<ShapeDtype> types() const;
};

// Raises TypeError with the path of the first leaf that is not an array; `what` names the tree.
FlatTree flatten_arrays(nb::handle object, const std::string& what);
// The same, and raises TypeError unless the structure is `wanted`, that of `whose`.
std::vector<Array> flatten_like(nb::handle object, const std::string& what, const TreeDef& wanted,
                                std::string_view whose);
// Raises TypeError unless the structure `found` of `what` is `wanted`, that of `whose`.
void check_structure(const TreeDef& found, const std::string& what, const TreeDef& wanted,
                     std::string_view whose);

// Raises TypeError unless `f` is callable.
void check_callable(nb::handle f, std::string_view what);
// Calls `f` with pytrees; `what` names the loop, branch or solver in messages.
nb::object call_with_trees(std::string_view what, nb::handle f, nb::tuple arguments);

}  // namespace farcall::python
