#include "flat_tree.h"

#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/trace/origin.h>
#include <farcall/trace/record.h>

#include "array_object.h"
#include "callbacks/python_function.h"
#include "convert.h"
#include "float0.h"
#include "traced_function.h"

namespace farcall::python {

std::vector<ShapeDtype> FlatTree::types() const { return types_of(arrays); }

FlatTree flatten_arrays(nb::handle object, const std::string& what) {
  FlatTree flat;
  std::vector<nb::object> leaves;
  flat.tree = flatten_marked(object, leaves);
  for (size_t i = 0; i < leaves.size(); ++i) {
    flat.arrays.push_back(
        is_float0(leaves[i]) ? float0_stand_in(leaves[i])
                             : to_array(leaves[i], [&] { return what + leaf_path(flat.tree, i); }));
  }
  return flat;
}

void check_structure(const TreeDef& found, const std::string& what, const TreeDef& wanted,
                     std::string_view whose) {
  if (found == wanted) return;
  throw TypeError(fmt::format("{} must have the structure of {},\n  {}\nit has\n  {}", what, whose,
                              text_of(wanted), text_of(found)));
}

std::vector<Array> flatten_like(nb::handle object, const std::string& what, const TreeDef& wanted,
                                std::string_view whose) {
  FlatTree found = flatten_arrays(object, what);
  check_structure(found.tree, what, wanted, whose);
  return std::move(found.arrays);
}

void check_callable(nb::handle f, std::string_view what) {
  if (PyCallable_Check(f.ptr())) return;
  throw TypeError(fmt::format("{} must be a function, got {} of type {}", what, repr_of(f),
                              Py_TYPE(f.ptr())->tp_name));
}

nb::object call_with_trees(std::string_view what, nb::handle f, nb::tuple arguments) {
  const CallArguments sorted = all_arguments(arguments, nb::dict());
  std::vector<Array> inputs;
  for (const nb::object& leaf : sorted.leaves) {
    inputs.push_back(is_array(leaf.ptr()) ? array_of(leaf.ptr()) : Array());
  }
  const TracedCallScope names(fmt::format("{}({})", what, name_of_function(f)), inputs,
                              [&](size_t leaf) { return describe_parameter(f, sorted, leaf); });
  nb::object result = nb::steal(PyObject_CallObject(f.ptr(), arguments.ptr()));
  if (!result.is_valid()) nb::raise_python_error();
  return result;
}

}  // namespace farcall::python
