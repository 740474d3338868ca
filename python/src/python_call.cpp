#include "python_call.h"

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/trace/differentiate.h>

#include "array_object.h"
#include "text.h"

namespace farcall::python {
namespace {

// Removes the tangents from auxiliary results of a function.
nb::object without_tangents(nb::handle tree) {
  std::vector<nb::object> leaves;
  const TreeDef structure = flatten_tree(tree, leaves);
  for (nb::object& leaf : leaves) {
    if (is_array(leaf.ptr())) leaf = wrap_object(without_tangent(array_of(leaf.ptr())));
  }
  return unflatten(structure, leaves);
}

}  // namespace

std::vector<Array> PythonCall::run(std::span<const Array> inputs) {
  return record_result(call(inputs));
}

std::vector<Array> PythonCall::record_result(nb::handle result) {
  FlatResult flat = flatten_result(where(), result);
  set_result_tree(std::move(flat.tree));
  return std::move(flat.arrays);
}

std::vector<Array> Differentiable::run(std::span<const Array> inputs) {
  nb::object result = call(inputs);
  if (has_aux_) {
    const bool is_pair =
        (PyTuple_Check(result.ptr()) || PyList_Check(result.ptr())) && nb::len(result) == 2;
    if (!is_pair) {
      throw TypeError(
          fmt::format("{}: with has_aux=True the function must return a pair (result, auxiliary "
                      "data), got {} of type {}",
                      where(), repr_of(result), Py_TYPE(result.ptr())->tp_name));
    }
    aux_ = without_tangents(result[1]);
    result = result[0];
  }
  return record_result(result);
}

nb::object Differentiable::with_aux(nb::object result) const {
  return has_aux_ ? nb::make_tuple(result, aux_) : result;
}

nb::object Differentiable::with_aux(nb::object first, nb::object second) const {
  return has_aux_ ? nb::make_tuple(first, second, aux_) : nb::make_tuple(first, second);
}

TreeDef positional_tree(const CallArguments& arguments) { return arguments.tree.children()[0]; }

}  // namespace farcall::python
