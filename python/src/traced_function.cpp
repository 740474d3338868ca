#include "traced_function.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/trace/origin.h>
#include <farcall/trace/record.h>
#include <farcall/trace/varying.h>

#include "array_object.h"
#include "convert.h"
#include "float0.h"
#include "known_arrays.h"
#include "recursion.h"

namespace farcall::python {
namespace {

void check_hashable(const std::string& where, nb::handle value, const std::string& which) {
  if (PyObject_Hash(value.ptr()) != -1) return;
  PyErr_Clear();
  invalid_argument(
      fmt::format("{}: static argument {} must be hashable, as the compiled program is "
                  "kept by its value; got {} of type {}. Use a tuple instead of a list",
                  where, which, repr_of(value), Py_TYPE(value.ptr())->tp_name));
}

// Null if the leaf is not an array.
Array leaf_to_array(nb::handle leaf) {
  return is_float0(leaf) ? float0_stand_in(leaf) : try_to_array(leaf);
}

}  // namespace

CallArguments sort_arguments(const std::string& where, const StaticArguments& statics,
                             PyObject* const* args, size_t nargs, PyObject* kwnames) {
  CallArguments result;
  result.positional.resize(nargs);
  result.is_static.resize(nargs, false);
  for (const int64_t number : statics.numbers) {
    if (number < static_cast<int64_t>(nargs)) result.is_static[static_cast<size_t>(number)] = true;
  }
  nb::list dynamic;
  for (size_t i = 0; i < nargs; ++i) {
    nb::object argument = nb::borrow(args[i]);
    if (result.is_static[i]) {
      if (statics.must_be_hashable) check_hashable(where, argument, std::to_string(i));
      result.positional[i] = argument;
    } else {
      dynamic.append(argument);
    }
  }
  nb::dict keywords;
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); ++i) {
    nb::handle key = PyTuple_GET_ITEM(kwnames, i);
    nb::handle value = args[nargs + static_cast<size_t>(i)];
    const std::string text = to_name(key, where + ": the name of an argument");
    if (std::ranges::find(statics.names, text) != statics.names.end()) {
      check_hashable(where, value, '"' + text + '"');
      result.static_keywords[key] = value;
    } else {
      keywords[key] = value;
    }
  }
  result.tree = flatten_marked(nb::make_tuple(nb::tuple(dynamic), keywords), result.leaves);
  return result;
}

CallArguments sort_arguments(const std::string& where, const StaticArguments& statics,
                             nb::tuple args, nb::dict kwargs) {
  std::vector<PyObject*> all;
  for (nb::handle arg : args) all.push_back(arg.ptr());
  const size_t count = all.size();
  nb::list names;
  for (auto [key, value] : kwargs) {
    names.append(key);
    all.push_back(value.ptr());
  }
  return sort_arguments(where, statics, all.data(), count, nb::tuple(names).ptr());
}

CallArguments choose_arguments(nb::tuple args, nb::dict kwargs, std::span<const size_t> dynamic) {
  CallArguments result;
  const size_t count = nb::len(args);
  result.is_static.resize(count, true);
  for (const size_t i : dynamic) result.is_static[i] = false;
  nb::list chosen;
  for (size_t i = 0; i < count; ++i) {
    nb::object argument = args[i];
    if (!result.is_static[i]) chosen.append(argument);
    result.positional.push_back(result.is_static[i] ? std::move(argument) : nb::object());
  }
  result.static_keywords = kwargs;
  result.tree = flatten_marked(nb::make_tuple(nb::tuple(chosen), nb::dict()), result.leaves);
  return result;
}

CallArguments all_arguments(nb::tuple args, nb::dict kwargs) {
  CallArguments result;
  result.positional.resize(nb::len(args));
  result.is_static.resize(nb::len(args), false);
  result.tree = flatten_marked(nb::make_tuple(args, kwargs), result.leaves);
  return result;
}

namespace {

// The place of a leaf. The tree of arguments is ((positional…), {keywords}).
struct LeafPlace {
  std::optional<size_t> position;  // empty for a keyword argument, whose name begins the path
  std::string path;                // within the argument
};

LeafPlace place_of_leaf(const CallArguments& arguments, size_t leaf) {
  const std::string path = leaf_path(arguments.tree, leaf);
  if (!path.starts_with("[0]")) return {std::nullopt, path.substr(3)};
  const size_t end = path.find(']', 3);
  size_t position = static_cast<size_t>(std::stoul(path.substr(4, end - 4)));
  for (size_t i = 0; i <= position && i < arguments.is_static.size(); ++i) {
    if (arguments.is_static[i]) ++position;
  }
  return {position, path.substr(end + 1)};
}

}  // namespace

std::string describe_leaf(const CallArguments& arguments, size_t leaf) {
  const LeafPlace place = place_of_leaf(arguments, leaf);
  return place.position ? fmt::format("argument {}{}", *place.position, place.path)
                        : "keyword argument " + place.path;
}

std::string describe_parameter(nb::handle function, const CallArguments& arguments, size_t leaf) {
  const LeafPlace place = place_of_leaf(arguments, leaf);
  try {
    if (place.position) {
      const nb::object name = nb::module_::import_("farcall._functions")
                                  .attr("name_of_positional")(function, *place.position);
      if (!name.is_none()) return fmt::format("argument {}{}", nb::str(name).c_str(), place.path);
    }
  } catch (nb::python_error&) {
    // The function has no readable signature.
  }
  return describe_leaf(arguments, leaf);
}

Array leaf_to_array(std::string_view where, const CallArguments& arguments, size_t leaf,
                    std::string_view remedy) {
  nb::handle object = arguments.leaves[leaf];
  Array array = leaf_to_array(object);
  if (!array.is_null()) return array;
  throw TypeError(fmt::format("{}: {} is {} of type {}, which is not an array{}", where,
                              describe_leaf(arguments, leaf), repr_of(object),
                              Py_TYPE(object.ptr())->tp_name, remedy));
}

std::vector<Array> leaves_to_arrays(std::string_view where, const CallArguments& arguments,
                                    std::string_view remedy) {
  std::vector<Array> arrays;
  arrays.reserve(arguments.leaves.size());
  for (size_t i = 0; i < arguments.leaves.size(); ++i) {
    arrays.push_back(leaf_to_array(where, arguments, i, remedy));
  }
  return arrays;
}

std::vector<ShapeDtype> leaves_to_types(std::string_view where, const CallArguments& arguments) {
  std::vector<ShapeDtype> types;
  for (size_t i = 0; i < arguments.leaves.size(); ++i) {
    nb::handle leaf = arguments.leaves[i];
    const Array array = leaf_to_array(leaf);
    types.push_back(array.is_null() ? to_shape_dtype(leaf, fmt::format("{}: {}", where,
                                                                       describe_leaf(arguments, i)))
                                    : array.type());
  }
  return types;
}

nb::object call_with_leaves(nb::handle function, const CallArguments& arguments,
                            std::span<const nb::object> leaves) {
  const Recursion recursion(" in a function that is transformed");
  const KnownArraysScope scope;
  nb::object dynamic = unflatten(arguments.tree, leaves);
  nb::object positional = dynamic[0];
  nb::list all;
  size_t next = 0;
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    all.append(arguments.is_static[i] ? arguments.positional[i] : nb::object(positional[next++]));
  }
  nb::dict keywords = nb::cast<nb::dict>(nb::object(dynamic[1]));
  for (auto [key, value] : arguments.static_keywords) keywords[key] = value;
  nb::object result =
      nb::steal(PyObject_Call(function.ptr(), nb::tuple(all).ptr(), keywords.ptr()));
  if (!result.is_valid()) nb::raise_python_error();
  return result;
}

nb::object call_function(nb::handle function, const CallArguments& arguments,
                         std::span<const Array> inputs, std::span<const Array> unchanged) {
  std::vector<nb::object> leaves;
  leaves.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool is_same = inputs[i].is_null() || (i < unchanged.size() && !unchanged[i].is_null() &&
                                                 &inputs[i].node() == &unchanged[i].node());
    leaves.push_back(is_same ? arguments.leaves[i] : wrap_object(inputs[i]));
  }
  return call_with_leaves(function, arguments, leaves);
}

FlatResult flatten_result(std::string_view where, nb::handle result) {
  FlatResult flat;
  std::vector<nb::object> leaves;
  flat.tree = flatten_marked(result, leaves);
  flat.arrays.reserve(leaves.size());
  for (size_t i = 0; i < leaves.size(); ++i) {
    Array output = leaf_to_array(leaves[i]);
    if (output.is_null()) {
      throw TypeError(fmt::format(
          "{}: the function returned {} of type {} at result{}; results must be "
          "arrays, numbers, or containers of these",
          where, repr_of(leaves[i]), Py_TYPE(leaves[i].ptr())->tp_name, leaf_path(flat.tree, i)));
    }
    flat.arrays.push_back(std::move(output));
  }
  return flat;
}

AxisSets axes_of_leaves(const CallArguments& arguments) {
  if (!is_tracking_axes()) return std::nullopt;
  std::vector<AxisSet> sets;
  for (const nb::object& leaf : arguments.leaves) {
    sets.push_back(is_array(leaf.ptr()) ? varying_axes(array_of(leaf.ptr())) : AxisSet{0});
  }
  return sets;
}

farcall::detail::TracedFunction trace(nb::handle function, const std::string& where,
                                      const std::string& name, const CallArguments& arguments,
                                      std::span<const ShapeDtype> types) {
  const KnownArraysScope scope;
  farcall::detail::TracedFunction traced;
  const auto named = [&](size_t leaf) { return describe_parameter(function, arguments, leaf); };
  Recording recording = record_with_constants(
      [&](std::span<const Array> inputs) {
        const TracedCallScope names(where, inputs, named);
        FlatResult result = flatten_result(where, call_function(function, arguments, inputs));
        traced.result = std::move(result.tree);
        return std::move(result.arrays);
      },
      types, axes_of_leaves(arguments), name);
  traced.program = std::move(recording.program);
  traced.captured = std::move(recording.captured);
  return traced;
}

nb::object unflatten_arrays(const TreeDef& tree, std::span<const Array> arrays) {
  std::vector<nb::object> leaves;
  leaves.reserve(arrays.size());
  for (const Array& array : arrays) leaves.push_back(wrap_object(array));
  return unflatten(tree, leaves);
}

}  // namespace farcall::python
