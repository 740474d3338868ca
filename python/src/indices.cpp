// From what stands in brackets after an array to indices.
#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/numpy.h>

#include "array_object.h"
#include "convert.h"

namespace farcall::python {
namespace {

std::optional<int64_t> optional_integer(PyObject* object) {
  if (object == Py_None) return std::nullopt;
  if (is_array(object) && !array_of(object).has_known_values()) {
    throw Error(ErrorCode::kOutOfRange,
                fmt::format("a slice from or to a traced {} would have a size that is not known. "
                            "Use lax.dynamic_slice, or lax.dynamic_slice_in_dim, which begin "
                            "anywhere and have a fixed size",
                            array_of(object).type().to_string()));
  }
  const Py_ssize_t value = PyNumber_AsSsize_t(object, nullptr);  // clips, as slices do
  if (value == -1 && PyErr_Occurred()) nb::raise_python_error();
  return value;
}

// A whole number that is known; nothing for anything else.
std::optional<int64_t> whole_number(PyObject* object) {
  // A traced scalar is an index too, but only an array can be one.
  if (is_array(object) || !PyIndex_Check(object) || PyBool_Check(object)) return std::nullopt;
  if (nb::object whole = nb::steal(PyNumber_Index(object)); whole.is_valid()) {
    const auto value = static_cast<int64_t>(PyLong_AsLongLong(whole.ptr()));
    if (value != -1 || !PyErr_Occurred()) return value;
  }
  // numpy's arrays can be asked, but most of them are no whole number.
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) nb::raise_python_error();
  PyErr_Clear();
  return std::nullopt;
}

// A list among other indices is an array of integers or bools, also without elements.
nb::object array_of_list(PyObject* list) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const bool is_empty = PyList_GET_SIZE(list) == 0;
  return is_empty ? numpy.attr("zeros")(0, "int32") : numpy.attr("asarray")(nb::handle(list));
}

numpy::Index to_index(PyObject* object, bool in_tuple) {
  if (object == Py_None) return numpy::NewAxis();
  if (object == Py_Ellipsis) return numpy::Ellipsis();
  if (PySlice_Check(object)) {
    auto* slice = reinterpret_cast<PySliceObject*>(object);
    return numpy::Slice{optional_integer(slice->start), optional_integer(slice->stop),
                        optional_integer(slice->step)};
  }
  if (const auto number = whole_number(object)) return *number;
  if (PyList_Check(object) && !in_tuple) {
    throw TypeError(
        fmt::format("an array cannot be indexed by a list; got {}. Make one array of "
                    "it with farcall.numpy.array",
                    repr_of(object)));
  }
  const nb::object made = PyList_Check(object) ? array_of_list(object) : nb::borrow(object);
  // Places in an array of more than 2^31 elements need all bits.
  Array array = try_to_array(made.ptr(), {.keeps_64_bits = true});
  if (array.is_null() || (array.dtype() != DType::kBool && !is_integer(array.dtype()))) {
    throw TypeError(
        fmt::format("an array can be indexed by integers, slices, None, ... and arrays of integers "
                    "or bools; got {} of type {}",
                    repr_of(object), Py_TYPE(object)->tp_name));
  }
  return array;
}

}  // namespace

std::vector<numpy::Index> to_indices(PyObject* key) {
  std::vector<numpy::Index> indices;
  if (PyTuple_Check(key)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) {
      indices.push_back(to_index(PyTuple_GET_ITEM(key, i), /*in_tuple=*/true));
    }
  } else {
    indices.push_back(to_index(key, /*in_tuple=*/false));
  }
  return indices;
}

}  // namespace farcall::python
