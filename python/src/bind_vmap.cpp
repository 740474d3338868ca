// vmap: a Python function over pytrees, mapped over dimensions of its arguments.
#include "bind.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/trace/batch.h>

#include "array_object.h"
#include "convert.h"
#include "float0.h"
#include "traced_function.h"
#include "tree.h"

namespace farcall::python {
namespace {

// An axis as it was given; nothing for None.
using GivenAxis = std::optional<int64_t>;

[[noreturn]] void raise(std::string text) {
  throw Error(ErrorCode::kInvalidArgument, std::move(text));
}

std::string describe(const GivenAxis& axis) { return axis ? std::to_string(*axis) : "None"; }

// Spreads a prefix of a tree, whose leaves are axes, over the leaves of `node`.
void spread_axes(nb::handle prefix, const TreeNode& node, const std::string& what,
                 std::vector<GivenAxis>& axes) {
  if (prefix.is_none()) {
    axes.insert(axes.end(), node.num_leaves, std::nullopt);
    return;
  }
  if (PyLong_Check(prefix.ptr())) {
    axes.insert(axes.end(), node.num_leaves, nb::cast<int64_t>(prefix));
    return;
  }
  std::vector<nb::object> children;
  const TreeDefPtr top = flatten_one_level(prefix, children);
  if (!is_same_container(top->root(), node)) {
    raise(
        fmt::format("{} must be a tree prefix of the value that it belongs to: got {} where the "
                    "value has structure {}",
                    what, nb::repr(prefix).c_str(), TreeDef(node).to_string()));
  }
  for (size_t i = 0; i < children.size(); ++i) {
    spread_axes(children[i], node.children[i], what, axes);
  }
}

std::vector<GivenAxis> input_axes(const std::string& where, nb::handle in_axes,
                                  const CallArguments& arguments) {
  const TreeNode& positional = arguments.tree->root().children[0];
  if (PyTuple_Check(in_axes.ptr()) &&
      nb::len(in_axes) != static_cast<size_t>(positional.children.size())) {
    raise(fmt::format(
        "{}: in_axes {} has {} entries, but {} positional arguments were given; it "
        "must be an int, None, or a tuple with an entry for each of them",
        where, nb::repr(in_axes).c_str(), nb::len(in_axes), positional.children.size()));
  }
  std::vector<GivenAxis> axes;
  spread_axes(in_axes, positional, where + ": in_axes", axes);
  axes.resize(arguments.leaves.size(), 0);  // keyword arguments
  return axes;
}

// The mapped leaves as arrays, others null, and their axes counted from the front.
struct MappedInputs {
  std::vector<Array> arrays;
  std::vector<int64_t> axes;
};

MappedInputs mapped_inputs(const std::string& where, const CallArguments& arguments,
                           const std::vector<GivenAxis>& given) {
  MappedInputs inputs;
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i]) {
      inputs.arrays.emplace_back();
      inputs.axes.push_back(kNotBatched);
      continue;
    }
    nb::handle leaf = arguments.leaves[i];
    Array array = is_float0(leaf)
                      ? float0_stand_in(leaf)
                      : to_array(leaf, fmt::format("{}: {}", where, describe_leaf(arguments, i)));
    const auto rank = static_cast<int64_t>(array.rank());
    const int64_t axis = *given[i];
    if (axis < -rank || axis >= rank) {
      raise(
          fmt::format("{}: {} should be mapped over its axis {}, but has rank {} (it is {}). "
                      "Give in_axes None for arguments that are not mapped",
                      where, describe_leaf(arguments, i), axis, rank, array.type().to_string()));
    }
    inputs.axes.push_back(axis < 0 ? axis + rank : axis);
    inputs.arrays.push_back(std::move(array));
  }
  return inputs;
}

int64_t batch_size(const std::string& where, const CallArguments& arguments,
                   const MappedInputs& inputs, std::optional<int64_t> axis_size) {
  std::optional<int64_t> size = axis_size;
  bool differs = false;
  const auto size_of = [&](size_t i) {
    return inputs.arrays[i].shape()[static_cast<size_t>(inputs.axes[i])];
  };
  for (size_t i = 0; i < inputs.arrays.size(); ++i) {
    if (inputs.axes[i] == kNotBatched) continue;
    differs = differs || (size && *size != size_of(i));
    size = size_of(i);
  }
  if (!size) {
    raise(arguments.leaves.empty()
              ? fmt::format("{}: there is no array among the arguments from which the size of the "
                            "mapped axis would follow; give axis_size",
                            where)
              : fmt::format("{}: no argument is mapped: in_axes must be other than None for at "
                            "least one, or axis_size be given",
                            where));
  }
  if (differs) {
    std::string text = fmt::format("{}: the mapped axes have inconsistent sizes:", where);
    if (axis_size) text += fmt::format("\n  * axis_size is {}", *axis_size);
    for (size_t i = 0; i < inputs.arrays.size(); ++i) {
      if (inputs.axes[i] == kNotBatched) continue;
      text += fmt::format("\n  * {} of type {} has size {} in axis {}", describe_leaf(arguments, i),
                          inputs.arrays[i].type().to_string(), size_of(i), inputs.axes[i]);
    }
    raise(std::move(text));
  }
  return *size;
}

// A result with its mapped dimension where out_axes wants it.
Array place(const Array& output, int64_t axis, const GivenAxis& wanted, int64_t size,
            const std::string& what) {
  if (!wanted) {
    if (axis == kNotBatched) return output;
    raise(
        fmt::format("{} differs along the mapped axis, but out_axes is None for it; give it an "
                    "axis",
                    what));
  }
  const int64_t rank = static_cast<int64_t>(output.rank()) + (axis == kNotBatched ? 1 : 0);
  if (*wanted < -rank || *wanted >= rank) {
    raise(
        fmt::format("{}: axis {} of out_axes is out of bounds for the mapped result, which has "
                    "rank {}",
                    what, describe(wanted), rank));
  }
  return move_axis(output, axis, *wanted < 0 ? *wanted + rank : *wanted, size);
}

nb::object call_vmap(nb::handle function, const std::string& where, nb::handle in_axes,
                     nb::handle out_axes, std::string axis_name, std::optional<int64_t> axis_size,
                     nb::tuple args, nb::dict kwargs) {
  const CallArguments arguments = all_arguments(args, kwargs);
  const MappedInputs inputs =
      mapped_inputs(where, arguments, input_axes(where, in_axes, arguments));
  const BatchAxis axis{batch_size(where, arguments, inputs, axis_size), std::move(axis_name)};
  TreeDefPtr tree;
  const BatchResults results = batch(
      [&](std::span<const Array> arrays) {
        FlatResult result = flatten_result(where, call_function(function, arguments, arrays));
        tree = std::move(result.tree);
        return std::move(result.arrays);
      },
      inputs.arrays, inputs.axes, axis);
  std::vector<GivenAxis> wanted;
  spread_axes(out_axes, tree->root(), where + ": out_axes", wanted);
  std::vector<nb::object> outputs;
  outputs.reserve(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Array output = place(results.outputs[i], results.axes[i], wanted[i], axis.size,
                               fmt::format("{}: result{}", where, leaf_path(*tree, i)));
    outputs.push_back(wrap_object(output));
  }
  return tree->unflatten(outputs);
}

}  // namespace

void bind_vmap(nb::module_& module) {
  module.def("vmap", call_vmap, nb::arg("function"), nb::arg("where"), nb::arg("in_axes").none(),
             nb::arg("out_axes").none(), nb::arg("axis_name"), nb::arg("axis_size").none(),
             nb::arg("args"), nb::arg("kwargs"));
}

}  // namespace farcall::python
