// Conversion of the key of array[key] to indices.
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
  const Py_ssize_t value = PyNumber_AsSsize_t(object, nullptr);  // clamps, as in slices
  if (value == -1 && PyErr_Occurred()) nb::raise_python_error();
  return value;
}

// The value of a Python integer; empty for anything else.
std::optional<int64_t> whole_number(PyObject* object) {
  // Traced scalars implement __index__ as well, but are always arrays.
  if (is_array(object) || !PyIndex_Check(object) || PyBool_Check(object)) return std::nullopt;
  if (nb::object whole = nb::steal(PyNumber_Index(object)); whole.is_valid()) {
    const auto value = static_cast<int64_t>(PyLong_AsLongLong(whole.ptr()));
    if (value != -1 || !PyErr_Occurred()) return value;
  }
  // numpy arrays implement __index__ too, but most are not integers.
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) nb::raise_python_error();
  PyErr_Clear();
  return std::nullopt;
}

// A list inside a tuple of indices becomes an array of integers or bools, even if it is empty.
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
  // Indices into arrays with more than 2^31 elements need 64 bits.
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
