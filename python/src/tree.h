// Pytrees: Python's containers of arrays as a TreeDef and leaves. Dictionaries are ordered by key.
#pragma once

#include <nanobind/nanobind.h>

#include <span>
#include <string>
#include <vector>

#include <farcall/trace/tree_def.h>

namespace farcall::python {

namespace nb = nanobind;

// Returns the structure of `tree` and appends its leaves to `leaves`. Objects for which `is_leaf`
// returns true are leaves.
TreeDef flatten_tree(nb::handle tree, std::vector<nb::object>& leaves, nb::handle is_leaf = {});

// The structure of the root only: its children are leaves and are appended to `children`.
TreeDef flatten_one_level(nb::handle tree, std::vector<nb::object>& children);

// Rebuilds the object from leaves. Raises ValueError if their number is wrong.
nb::object unflatten(const TreeDef& tree, std::span<const nb::object> leaves);

bool is_dict(const TreeDef& node);
// Its keys, sorted.
nb::list keys_of(const TreeDef& dict);
bool is_named_tuple(const TreeDef& node);
nb::object class_of(const TreeDef& named_tuple);

// The same tree, with the leaves marked as float0 where the flag is set; see float0.h.
TreeDef with_float0(const TreeDef& tree, std::span<const bool> is_float0);

// "PyTreeDef((*, {'a': *}))"
std::string text_of(const TreeDef& tree);

void bind_tree(nb::module_& module);

}  // namespace farcall::python
