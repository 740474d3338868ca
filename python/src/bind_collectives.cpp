// Collectives over the named axes of vmap and shard_map, on pytrees.
#include "bind.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/collectives.h>

#include "array_object.h"
#include "convert.h"
#include "tree.h"

namespace farcall::python {
namespace {

lax::AxisNames axis_names(nb::handle object, const char* function) {
  lax::AxisNames names;
  if (nb::isinstance<nb::str>(object))
    return {to_name(object, fmt::format("{}: axis_name", function))};
  if ((PyTuple_Check(object.ptr()) || PyList_Check(object.ptr())) && nb::len(object) > 0) {
    for (nb::handle item : nb::borrow<nb::sequence>(object)) {
      names.push_back(to_option<std::string>(item, fmt::format("{}: axis_name", function),
                                             "a string or a tuple of strings"));
    }
    return names;
  }
  throw TypeError(fmt::format("{}: axis_name must be a string or a tuple of strings, got {}",
                              function, repr_of(object)));
}

template <class F>
nb::object each_leaf(nb::handle x, const char* function, const F& f) {
  std::vector<nb::object> leaves;
  const TreeDef tree = flatten_tree(x, leaves);
  for (size_t i = 0; i < leaves.size(); ++i) {
    leaves[i] = f(leaves[i], fmt::format("{}: x{}", function, leaf_path(tree, i)));
  }
  return unflatten(tree, leaves);
}

using Reduction = Array (*)(const Array&, const lax::AxisNames&);

}  // namespace

void bind_collectives(nb::module_& module) {
  const std::pair<const char*, Reduction> reductions[] = {
      {"psum", lax::psum}, {"pmean", lax::pmean}, {"pmax", lax::pmax}, {"pmin", lax::pmin}};
  for (const auto& [name, function] : reductions) {
    module.def(
        name,
        [name = name, function = function](nb::handle x, nb::handle axis) {
          const auto names = axis_names(axis, name);
          return each_leaf(x, name, [&](nb::handle leaf, const std::string& what) -> nb::object {
            // psum of a number is known when recording: psum(1, axis) is the axis size.
            const bool is_number = PyLong_Check(leaf.ptr()) || PyFloat_Check(leaf.ptr());
            if (function == lax::psum && is_number) {
              nb::object size = nb::cast(lax::axis_size(names, name));
              return nb::steal(PyNumber_Multiply(leaf.ptr(), size.ptr()));
            }
            return wrap_object(function(to_array(leaf, what), names));
          });
        },
        nb::arg("x").none(), nb::arg("axis_name").none());
  }
  module.def(
      "all_gather",
      [](nb::handle x, nb::handle axis_name, int64_t axis, bool tiled) {
        const auto names = axis_names(axis_name, "all_gather");
        return each_leaf(x, "all_gather", [&](nb::handle leaf, const std::string& what) {
          return wrap_object(lax::all_gather(to_array(leaf, what), names, axis, tiled));
        });
      },
      nb::arg("x").none(), nb::arg("axis_name").none(), nb::arg("axis"), nb::arg("tiled"));
  module.def(
      "all_to_all",
      [](nb::handle x, nb::handle axis_name, int64_t split, int64_t concat, bool tiled) {
        const auto names = axis_names(axis_name, "all_to_all");
        return each_leaf(x, "all_to_all", [&](nb::handle leaf, const std::string& what) {
          return wrap_object(lax::all_to_all(to_array(leaf, what), names, split, concat, tiled));
        });
      },
      nb::arg("x").none(), nb::arg("axis_name").none(), nb::arg("split_axis"),
      nb::arg("concat_axis"), nb::arg("tiled"));
  module.def(
      "pswapaxes",
      [](nb::handle x, nb::handle axis_name, int64_t axis) {
        const auto names = axis_names(axis_name, "pswapaxes");
        return each_leaf(x, "pswapaxes", [&](nb::handle leaf, const std::string& what) {
          return wrap_object(lax::pswapaxes(to_array(leaf, what), names, axis));
        });
      },
      nb::arg("x").none(), nb::arg("axis_name").none(), nb::arg("axis"));
  module.def(
      "pbroadcast",
      [](nb::handle x, nb::handle axis_name, int64_t source) {
        const auto names = axis_names(axis_name, "pbroadcast");
        return each_leaf(x, "pbroadcast", [&](nb::handle leaf, const std::string& what) {
          return wrap_object(lax::pbroadcast(to_array(leaf, what), names, source));
        });
      },
      nb::arg("x").none(), nb::arg("axis_name").none(), nb::arg("source"));
  module.def(
      "pvary",
      [](nb::handle x, nb::handle axis_name) {
        const auto names = axis_names(axis_name, "pcast");
        return each_leaf(x, "pcast", [&](nb::handle leaf, const std::string& what) {
          return wrap_object(lax::pvary(to_array(leaf, what), names));
        });
      },
      nb::arg("x").none(), nb::arg("axis_name").none());
  module.def(
      "psum_scatter",
      [](nb::handle x, nb::handle axis_name, int64_t dimension, bool tiled) {
        const auto names = axis_names(axis_name, "psum_scatter");
        return each_leaf(x, "psum_scatter", [&](nb::handle leaf, const std::string& what) {
          return wrap_object(lax::psum_scatter(to_array(leaf, what), names, dimension, tiled));
        });
      },
      nb::arg("x").none(), nb::arg("axis_name").none(), nb::arg("scatter_dimension"),
      nb::arg("tiled"));
  module.def(
      "ppermute",
      [](nb::handle x, nb::handle axis_name, const std::vector<std::pair<int64_t, int64_t>>& perm) {
        const auto names = axis_names(axis_name, "ppermute");
        return each_leaf(x, "ppermute", [&](nb::handle leaf, const std::string& what) {
          return wrap_object(lax::ppermute(to_array(leaf, what), names, perm));
        });
      },
      nb::arg("x").none(), nb::arg("axis_name").none(), nb::arg("perm"));
  module.def(
      "axis_index",
      [](nb::handle axis) { return wrap_object(lax::axis_index(axis_names(axis, "axis_index"))); },
      nb::arg("axis_name").none());
  module.def(
      "axis_size", [](nb::handle axis) { return lax::axis_size(axis_names(axis, "axis_size")); },
      nb::arg("axis_name").none());
}

}  // namespace farcall::python
