// vmap: a Python function over pytrees, mapped over dimensions of its arguments.
#include "bind.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/trace/vmap.h>

#include "python_call.h"
#include "text.h"
#include "traced_function.h"
#include "tree.h"

namespace farcall::python {
namespace {

// An axis as the user gave it; empty for None.
using GivenAxis = std::optional<int64_t>;

// Expands a prefix tree of axes to one axis for each leaf of `node`.
void spread_axes(nb::handle prefix, const TreeDef& node, const std::string& what,
                 std::vector<GivenAxis>& axes) {
  if (prefix.is_none()) {
    axes.insert(axes.end(), node.num_leaves(), std::nullopt);
    return;
  }
  if (PyLong_Check(prefix.ptr())) {
    axes.insert(axes.end(), node.num_leaves(), nb::cast<int64_t>(prefix));
    return;
  }
  std::vector<nb::object> children;
  const TreeDef top = flatten_one_level(prefix, children);
  if (top.is_leaf() || !top.has_root_of(node)) {
    invalid_argument(
        fmt::format("{} must be a tree prefix of the value that it belongs to: got {} where the "
                    "value has structure {}",
                    what, repr_of(prefix), text_of(node)));
  }
  for (size_t i = 0; i < children.size(); ++i) {
    spread_axes(children[i], node.children()[i], what, axes);
  }
}

std::vector<GivenAxis> input_axes(const std::string& where, nb::handle in_axes,
                                  const CallArguments& arguments) {
  const TreeDef& positional = arguments.tree.children()[0];
  if (PyTuple_Check(in_axes.ptr()) &&
      nb::len(in_axes) != static_cast<size_t>(positional.children().size())) {
    invalid_argument(
        fmt::format("{}: in_axes {} has {} entries, but {} positional arguments were given; it "
                    "must be an int, None, or a tuple with an entry for each of them",
                    where, repr_of(in_axes), nb::len(in_axes), positional.children().size()));
  }
  std::vector<GivenAxis> axes;
  spread_axes(in_axes, positional, where + ": in_axes", axes);
  axes.resize(arguments.leaves.size(), 0);  // keyword arguments are mapped over axis 0
  return axes;
}

nb::object call_vmap(nb::handle function, const std::string& where, nb::handle in_axes,
                     nb::handle out_axes, const std::string& axis_name,
                     std::optional<int64_t> axis_size, std::vector<std::string> spmd_axis_names,
                     nb::tuple args, nb::dict kwargs) {
  const CallArguments arguments = all_arguments(args, kwargs);
  const std::vector<GivenAxis> axes = input_axes(where, in_axes, arguments);
  std::vector<Array> mapped(axes.size());  // unmapped arguments keep their objects
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i]) mapped[i] = leaf_to_array(where, arguments, i);
  }
  PythonCall call(function, where, arguments, std::move(mapped));
  const auto wanted = [&] {
    std::vector<GivenAxis> all;
    spread_axes(out_axes, call.result_tree(), where + ": out_axes", all);
    return all;
  };
  const std::vector<Array> results =
      farcall::detail::call_vmap(call, axes, wanted,
                                 {.axis_name = axis_name,
                                  .axis_size = axis_size,
                                  .spmd_axis_names = std::move(spmd_axis_names)});
  return unflatten_arrays(call.result_tree(), results);
}

}  // namespace

void bind_vmap(nb::module_& module) {
  module.def("vmap", call_vmap, nb::arg("function"), nb::arg("where"), nb::arg("in_axes").none(),
             nb::arg("out_axes").none(), nb::arg("axis_name"), nb::arg("axis_size").none(),
             nb::arg("spmd_axis_names"), nb::arg("args"), nb::arg("kwargs"));
}

}  // namespace farcall::python
