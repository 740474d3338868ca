// A Python function over pytrees as a flat function over arrays.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <farcall/program/program.h>
#include <farcall/trace/array.h>
#include <farcall/trace/program_cache.h>

#include "tree.h"

namespace farcall::python {

// Which arguments of a function are not arrays but constants of the program.
struct StaticArguments {
  std::vector<int64_t> numbers;    // positions, not negative
  std::vector<std::string> names;  // of keyword arguments
  bool must_be_hashable = true;
};

// One call's arguments, sorted out.
struct CallArguments {
  std::vector<nb::object> positional;  // all; static ones as they came, others null
  std::vector<bool> is_static;         // by position
  nb::dict static_keywords;
  TreeDef tree;  // of (dynamic positional…, dynamic keywords)
  std::vector<nb::object> leaves;
};

// In what follows, `where` is what was called, for messages: "jit(f)".

// Raises ValueError for unhashable static arguments.
CallArguments sort_arguments(const std::string& where, const StaticArguments& statics,
                             PyObject* const* args, size_t nargs, PyObject* kwnames);
CallArguments sort_arguments(const std::string& where, const StaticArguments& statics,
                             nb::tuple args, nb::dict kwargs);
// Those at the positions in `dynamic` are dynamic, all others stay as they came.
CallArguments choose_arguments(nb::tuple args, nb::dict kwargs, std::span<const size_t> dynamic);
// All are dynamic.
CallArguments all_arguments(nb::tuple args, nb::dict kwargs);

// "argument 0['a']": names a leaf for messages.
std::string describe_leaf(const CallArguments& arguments, size_t leaf);
// The same with the parameter's name where the function tells it: "argument weights[0]".
std::string describe_parameter(nb::handle function, const CallArguments& arguments, size_t leaf);

// A leaf, or all, as arrays; raises TypeError with the path of the leaf that is none, and `remedy`.
Array leaf_to_array(std::string_view where, const CallArguments& arguments, size_t leaf,
                    std::string_view remedy = {});
std::vector<Array> leaves_to_arrays(std::string_view where, const CallArguments& arguments,
                                    std::string_view remedy = {});
// The leaves' types; leaves may be arrays, numbers, or have .shape and .dtype.
std::vector<ShapeDtype> leaves_to_types(std::string_view where, const CallArguments& arguments);

// Calls the function with these in place of the leaves.
nb::object call_with_leaves(nb::handle function, const CallArguments& arguments,
                            std::span<const nb::object> leaves);
// With arrays. A leaf stays the object that it was where its array is null, or is the one in
// `unchanged`.
nb::object call_function(nb::handle function, const CallArguments& arguments,
                         std::span<const Array> inputs, std::span<const Array> unchanged = {});

// What a function returned, flattened; raises TypeError with the path of a leaf that is no array.
struct FlatResult {
  TreeDef tree;
  std::vector<Array> arrays;
};
FlatResult flatten_result(std::string_view where, nb::handle result);

// Records `function` on arrays of these types in place of the leaves.
farcall::detail::TracedFunction trace(nb::handle function, const std::string& where,
                                      const std::string& name, const CallArguments& arguments,
                                      std::span<const ShapeDtype> types);

// Arrays as the objects of a structure.
nb::object unflatten_arrays(const TreeDef& tree, std::span<const Array> arrays);

}  // namespace farcall::python
