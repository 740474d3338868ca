// checkpoint and named_call: calls of Python functions that are recorded as one operation.
#include "bind.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <farcall/trace/call.h>
#include <farcall/trace/checkpoint.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/origin.h>
#include <farcall/trace/varying.h>

#include "array_object.h"
#include "convert.h"
#include "traced_function.h"

namespace farcall::python {
namespace {

nb::object call_checkpoint(nb::handle function, const std::string& where, const std::string& name,
                           std::vector<int64_t> static_numbers, bool prevent_cse,
                           std::string policy, std::vector<std::string> names, nb::tuple args,
                           nb::dict kwargs) {
  const CallArguments arguments = sort_arguments(
      where, {std::move(static_numbers), {}, /*must_be_hashable=*/false}, args, kwargs);
  const std::vector<Array> inputs = leaves_to_arrays(where, arguments);
  const auto named = [&](size_t leaf) { return describe_parameter(function, arguments, leaf); };
  TreeDef tree;
  const std::vector<Array> results = checkpoint(
      [&](std::span<const Array> arrays) {
        const TracedCallScope scope(where, arrays, named);
        FlatResult result = flatten_result(where, call_function(function, arguments, arrays));
        tree = std::move(result.tree);
        return std::move(result.arrays);
      },
      inputs, {name, prevent_cse, {std::move(policy), std::move(names)}});
  return unflatten_arrays(tree, results);
}

// In eager mode calls the function directly, so leaves may be any objects.
nb::object call_named(nb::handle function, const std::string& where, const std::string& name,
                      nb::tuple args, nb::dict kwargs) {
  if (is_evaluating()) {
    nb::object result = nb::steal(PyObject_Call(function.ptr(), args.ptr(), kwargs.ptr()));
    if (!result.is_valid()) nb::raise_python_error();
    return result;
  }
  const CallArguments arguments = all_arguments(args, kwargs);
  const std::vector<Array> inputs = leaves_to_arrays(where, arguments);
  const auto named = [&](size_t leaf) { return describe_parameter(function, arguments, leaf); };
  TreeDef tree;
  const Recording recording = record_closure(
      [&](std::span<const Array> arrays) {
        const TracedCallScope scope(where, arrays, named);
        FlatResult result = flatten_result(where, call_function(function, arguments, arrays));
        tree = std::move(result.tree);
        return std::move(result.arrays);
      },
      types_of(inputs), varying_axes(inputs), name);
  std::vector<Array> operands = recording.captured;
  operands.insert(operands.end(), inputs.begin(), inputs.end());
  return unflatten_arrays(tree, call_program(recording.program, operands));
}

}  // namespace

void bind_checkpoint(nb::module_& module) {
  module.def("checkpoint", call_checkpoint);
  module.def("named_call", call_named);
  using Policy = std::pair<std::string, std::vector<std::string>>;
  module.def("save_from_both", [](const Policy& first, const Policy& second) {
    SavePolicy both = save_from_both({first.first, first.second}, {second.first, second.second});
    return Policy(std::move(both.name), std::move(both.names));
  });
  module.def("checkpoint_name", [](nb::handle x, const std::string& name) {
    return wrap_object(checkpoint_name(to_array(x, "checkpoint_name: x"), name));
  });
}

}  // namespace farcall::python
