#include "traced_function.h"

#include <nanobind/stl/string.h>

#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/trace/record.h>

#include "array_object.h"
#include "convert.h"

namespace farcall::python {
namespace {

void check_hashable(const std::string& name, nb::handle value, const std::string& which) {
  if (PyObject_Hash(value.ptr()) != -1) return;
  PyErr_Clear();
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("jit({}): static argument {} must be hashable, as the compiled program is "
                  "kept by its value; got {} of type {}. Use a tuple instead of a list",
                  name, which, nb::repr(value).c_str(), Py_TYPE(value.ptr())->tp_name));
}

// "argument x[0]['a']": names the leaf by position, or by keyword.
std::string describe_leaf(const CallArguments& arguments, size_t leaf) {
  const std::string path = leaf_path(*arguments.tree, leaf);
  // The tree is ((positional…), {keywords}).
  if (path.starts_with("[0]")) {
    const size_t end = path.find(']', 3);
    size_t position = static_cast<size_t>(std::stoul(path.substr(4, end - 4)));
    for (size_t i = 0; i <= position && i < arguments.is_static.size(); ++i) {
      if (arguments.is_static[i]) ++position;
    }
    return fmt::format("argument {}{}", position, path.substr(end + 1));
  }
  return "keyword argument " + path.substr(3);
}

nb::object call_function(nb::handle function, const CallArguments& arguments,
                         std::span<const Array> inputs) {
  std::vector<nb::object> leaves;
  leaves.reserve(inputs.size());
  for (const Array& input : inputs) leaves.push_back(wrap_object(input));
  nb::object dynamic = arguments.tree->unflatten(leaves);
  nb::object positional = dynamic[0];
  nb::list all;
  size_t next = 0;
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    all.append(arguments.is_static[i] ? arguments.positional[i] : nb::object(positional[next++]));
  }
  nb::dict keywords = nb::cast<nb::dict>(nb::object(dynamic[1]));
  for (auto [key, value] : arguments.static_keywords) keywords[key] = value;
  return nb::steal(PyObject_Call(function.ptr(), nb::tuple(all).ptr(), keywords.ptr()));
}

}  // namespace

CallArguments sort_arguments(const std::string& name, const StaticArguments& statics,
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
      check_hashable(name, argument, std::to_string(i));
      result.positional[i] = argument;
    } else {
      dynamic.append(argument);
    }
  }
  nb::dict keywords;
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); ++i) {
    nb::handle key = PyTuple_GET_ITEM(kwnames, i);
    nb::handle value = args[nargs + static_cast<size_t>(i)];
    const std::string text = nb::cast<std::string>(key);
    if (std::ranges::find(statics.names, text) != statics.names.end()) {
      check_hashable(name, value, '"' + text + '"');
      result.static_keywords[key] = value;
    } else {
      keywords[key] = value;
    }
  }
  result.tree = flatten_tree(nb::make_tuple(nb::tuple(dynamic), keywords), result.leaves);
  return result;
}

std::vector<Array> leaves_to_arrays(const std::string& name, const CallArguments& arguments) {
  std::vector<Array> arrays;
  arrays.reserve(arguments.leaves.size());
  for (size_t i = 0; i < arguments.leaves.size(); ++i) {
    Array array = try_to_array(arguments.leaves[i]);
    if (array.is_null()) {
      throw TypeError(
          fmt::format("jit({}): {} is {} of type {}, which is no array. Name it in "
                      "static_argnums or static_argnames if it is to be a constant",
                      name, describe_leaf(arguments, i), nb::repr(arguments.leaves[i]).c_str(),
                      Py_TYPE(arguments.leaves[i].ptr())->tp_name));
    }
    if (!array.is_concrete()) {
      throw LeakedTracerError(
          fmt::format("jit({}): {} is a leaked traced array {}: the function that "
                      "it belongs to has ended",
                      name, describe_leaf(arguments, i), array.type().to_string()));
    }
    arrays.push_back(std::move(array));
  }
  return arrays;
}

std::vector<ShapeDtype> leaves_to_types(const std::string& name, const CallArguments& arguments) {
  std::vector<ShapeDtype> types;
  for (size_t i = 0; i < arguments.leaves.size(); ++i) {
    nb::handle leaf = arguments.leaves[i];
    const Array array = try_to_array(leaf);
    types.push_back(array.is_null()
                        ? to_shape_dtype(leaf, name + ": " + describe_leaf(arguments, i))
                        : array.type());
  }
  return types;
}

TracedProgram trace(nb::handle function, const std::string& name, const CallArguments& arguments,
                    std::span<const ShapeDtype> types) {
  TracedProgram traced;
  traced.program = record(
      [&](std::span<const Array> inputs) {
        nb::object result = call_function(function, arguments, inputs);
        if (!result.is_valid()) nb::raise_python_error();
        std::vector<nb::object> leaves;
        traced.result_tree = flatten_tree(result, leaves);
        std::vector<Array> outputs;
        for (size_t i = 0; i < leaves.size(); ++i) {
          Array output = try_to_array(leaves[i]);
          if (output.is_null()) {
            throw TypeError(
                fmt::format("jit({}): the function returned {} of type {} at result{}; "
                            "results must be arrays, numbers, or containers of these",
                            name, nb::repr(leaves[i]).c_str(), Py_TYPE(leaves[i].ptr())->tp_name,
                            leaf_path(*traced.result_tree, i)));
          }
          outputs.push_back(std::move(output));
        }
        return outputs;
      },
      types, name);
  return traced;
}

}  // namespace farcall::python
