// Python functions over pytrees as flat functions over arrays.
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
#include <farcall/trace/varying.h>

#include "tree.h"

namespace farcall::python {

// The arguments of a function that are constants of the program, not arrays.
struct StaticArguments {
  std::vector<int64_t> numbers;    // positions, nonnegative
  std::vector<std::string> names;  // of keyword arguments
  bool must_be_hashable = true;
};

// The arguments of one call, divided into static and dynamic ones.
struct CallArguments {
  std::vector<nb::object> positional;  // all; static arguments as passed, others null
  std::vector<bool> is_static;         // by position
  nb::dict static_keywords;
  TreeDef tree;  // of (dynamic positional…, dynamic keywords)
  std::vector<nb::object> leaves;
};

// Below, `where` names the call in messages: "jit(f)".

// Raises ValueError for unhashable static arguments.
CallArguments sort_arguments(const std::string& where, const StaticArguments& statics,
                             PyObject* const* args, size_t nargs, PyObject* kwnames);
CallArguments sort_arguments(const std::string& where, const StaticArguments& statics,
                             nb::tuple args, nb::dict kwargs);
// The arguments at the positions `dynamic` are dynamic; the others are passed unchanged.
CallArguments choose_arguments(nb::tuple args, nb::dict kwargs, std::span<const size_t> dynamic);
// All arguments are dynamic.
CallArguments all_arguments(nb::tuple args, nb::dict kwargs);

// Names a leaf in messages: "argument 0['a']".
std::string describe_leaf(const CallArguments& arguments, size_t leaf);
// The same with the parameter's name, if the function has a signature: "argument weights[0]".
std::string describe_parameter(nb::handle function, const CallArguments& arguments, size_t leaf);

// Converts one leaf, or all, to arrays. Raises TypeError with the path of a leaf that is not an
// array, and `remedy`.
Array leaf_to_array(std::string_view where, const CallArguments& arguments, size_t leaf,
                    std::string_view remedy = {});
std::vector<Array> leaves_to_arrays(std::string_view where, const CallArguments& arguments,
                                    std::string_view remedy = {});
// The types of the leaves, which may be arrays, numbers, or objects with .shape and .dtype.
std::vector<ShapeDtype> leaves_to_types(std::string_view where, const CallArguments& arguments);

// The sets of the leaves (trace/varying.h); a leaf that is not an array does not vary.
AxisSets axes_of_leaves(const CallArguments& arguments);

// Calls the function with `leaves` in place of the original ones.
nb::object call_with_leaves(nb::handle function, const CallArguments& arguments,
                            std::span<const nb::object> leaves);
// The same with arrays. A leaf whose array is null, or equal to the one in `unchanged`, is passed
// as the original object.
nb::object call_function(nb::handle function, const CallArguments& arguments,
                         std::span<const Array> inputs, std::span<const Array> unchanged = {});

// The flattened result of a function. Raises TypeError with the path of a leaf that is not an
// array.
struct FlatResult {
  TreeDef tree;
  std::vector<Array> arrays;
};
FlatResult flatten_result(std::string_view where, nb::handle result);

// Records `function` on arrays of these types in place of the leaves.
farcall::detail::TracedFunction trace(nb::handle function, const std::string& where,
                                      const std::string& name, const CallArguments& arguments,
                                      std::span<const ShapeDtype> types);

// Unflattens arrays to Python objects.
nb::object unflatten_arrays(const TreeDef& tree, std::span<const Array> arrays);

}  // namespace farcall::python
