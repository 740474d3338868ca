#include "differentiable.h"

#include <fmt/format.h>

#include <farcall/core/error.h>

#include "array_object.h"

namespace farcall::python {
namespace {

// Drops derivatives from what a function returns beside its result.
nb::object without_tangents(nb::handle tree) {
  std::vector<nb::object> leaves;
  const TreeDefPtr structure = flatten_tree(tree, leaves);
  for (nb::object& leaf : leaves) {
    if (is_array(leaf.ptr())) leaf = wrap_object(without_tangent(array_of(leaf.ptr())));
  }
  return structure->unflatten(leaves);
}

}  // namespace

std::vector<Array> Differentiable::operator()(std::span<const Array> inputs) {
  nb::object result = call_function(function_, arguments_, inputs, primals_);
  if (has_aux_) {
    const bool is_pair =
        (PyTuple_Check(result.ptr()) || PyList_Check(result.ptr())) && nb::len(result) == 2;
    if (!is_pair) {
      throw TypeError(
          fmt::format("{}: with has_aux=True the function must return a pair (result, auxiliary "
                      "data), got {} of type {}",
                      where_, nb::repr(result).c_str(), Py_TYPE(result.ptr())->tp_name));
    }
    aux_ = without_tangents(result[1]);
    result = result[0];
  }
  FlatResult flat = flatten_result(where_, result);
  result_tree_ = std::move(flat.tree);
  return std::move(flat.arrays);
}

nb::object Differentiable::with_aux(nb::object first, nb::object second) const {
  return has_aux_ ? nb::make_tuple(first, second, aux_) : nb::make_tuple(first, second);
}

TreeDefPtr positional_tree(const CallArguments& arguments) {
  return std::make_shared<const TreeDef>(arguments.tree->root().children[0]);
}

}  // namespace farcall::python
