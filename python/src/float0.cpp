#include "float0.h"

#include <algorithm>

#include <farcall/ops/numpy.h>

#include "array_object.h"
#include "convert.h"
#include "numpy_api.h"

namespace farcall::python {
// The same dtype as JAX's; lives until the process ends.
const nb::object& float0_dtype() {
  static const auto* dtype = [] {
    nb::list fields;
    fields.append(nb::make_tuple("float0", "V"));
    return new nb::object(nb::module_::import_("numpy").attr("dtype")(fields));
  }();
  return *dtype;
}

bool is_float0(nb::handle object) {
  if (!PyArray_Check(object.ptr())) return false;
  auto* const array = reinterpret_cast<PyArrayObject*>(object.ptr());
  return PyArray_TYPE(array) == NPY_VOID && PyArray_ITEMSIZE(array) == 0 &&
         nb::object(object.attr("dtype")).equal(float0_dtype());
}

nb::object float0_zeros(std::span<const int64_t> shape) {
  return nb::module_::import_("numpy").attr("zeros")(to_tuple(shape), float0_dtype());
}

TreeDef flatten_marked(nb::handle tree, std::vector<nb::object>& leaves) {
  TreeDef flat = flatten_tree(tree, leaves);
  if (std::ranges::none_of(leaves, is_float0)) return flat;
  const auto marks = std::make_unique<bool[]>(leaves.size());
  std::ranges::transform(leaves, marks.get(), is_float0);
  return with_float0(flat, {marks.get(), leaves.size()});
}

Array float0_stand_in(nb::handle object) {
  return numpy::zeros(to_sizes(object.attr("shape"), "shape"), DType::kBool);
}

nb::object from_float0_stand_in(nb::object object) {
  return is_array(object.ptr()) ? float0_zeros(array_of(object.ptr()).shape()) : object;
}

}  // namespace farcall::python
