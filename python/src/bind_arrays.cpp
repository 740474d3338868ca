// Conversions for the Python side of Array.
#include "bind.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/promotion.h>
#include <farcall/trace/origin.h>
#include <farcall/trace/placement.h>

#include "array_object.h"
#include "convert.h"
#include "text.h"
#include "tree.h"

namespace farcall::python {

void bind_arrays(nb::module_& module) {
  module.def(
      "from_dlpack",
      [](nb::handle object, std::optional<bool> copy) {
        return wrap_object(from_dlpack(object, copy));
      },
      nb::arg("x"), nb::arg("copy").none() = nb::none());
  module.def(
      "block_until_ready",
      [](nb::object tree) {
        // Most trees are one array.
        std::vector<nb::object> leaves;
        if (!is_array(tree.ptr())) flatten_tree(tree, leaves);
        const auto wait = [](nb::handle leaf) {
          if (!is_array(leaf.ptr())) return;
          const Array& array = array_of(leaf.ptr());
          if (array.is_concrete() || array.is_deleted()) wait_for(array);
        };
        wait(tree);
        std::ranges::for_each(leaves, wait);
        return tree;
      },
      nb::arg("x").none());
  module.def("as_array", [](nb::handle object) { return wrap_object(to_array(object, "value")); });
  module.def(
      "to_sizes",
      [](nb::handle object, const std::string& what) {
        if (PyIndex_Check(object.ptr()) && !PySequence_Check(object.ptr())) {
          throw TypeError(
              fmt::format("{} must be a sequence of integers, got {}", what, repr_of(object)));
        }
        return to_tuple(to_sizes(object, what));
      },
      nb::arg("object").none(), nb::arg("what"));
  module.def("promoted_dtype", [](const std::vector<ShapeDtype>& types) {
    return dtype_object(promote_types(types).dtype);
  });
  // Raises for a traced array where a size, an axis or another integer is required; `what` names
  // the argument. Of the functions after it, the first gives a concrete array of the values of a
  // traced one, or None if they are unknown; the others give the texts of messages: why they are
  // unknown, and what makes them known.
  module.def(
      "_check_known_integer",
      [](nb::handle object, const std::string& what) { check_known_integer(object, what); },
      nb::arg("object").none(), nb::arg("what"));
  module.def("_with_known_values", [](nb::handle object) -> nb::object {
    const Array array = to_array(object, "array");
    if (!array.has_known_values()) return nb::none();
    return wrap_object(array.is_concrete() ? array : Array(array.type(), array.storage()));
  });
  module.def("_why_unknown",
             [](nb::handle array) { return why_unknown(to_array(array, "array")); });
  module.def("_how_to_know",
             [](nb::handle array) { return how_to_know(to_array(array, "array")); });
  // For unpickling: sets or clears the weak type; the values stay.
  module.def("with_weak_type", [](nb::handle object, bool weak_type) {
    const Array array = to_array(object, "with_weak_type: array");
    return wrap_object(with_type(array, ShapeDtype(array.dtype(), array.shape(), weak_type)));
  });
}

}  // namespace farcall::python
