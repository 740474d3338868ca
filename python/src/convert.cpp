#include "convert.h"

#include "numpy_api.h"

#include <cstring>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/trace/interpreter.h>

#include "array_object.h"
#include "callbacks/buffer_object.h"
#include "known_arrays.h"

namespace farcall::python {
namespace {

std::string python_type_name(nb::handle object) { return Py_TYPE(object.ptr())->tp_name; }

// The reference that adopted memory holds. Arrays die on any thread.
void release_object(void* object) {
  if (!Py_IsInitialized()) return;  // the interpreter has gone, and the object with it
  const PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF(static_cast<PyObject*>(object));
  PyGILState_Release(state);
}

std::optional<ScalarNode::Number> python_number(PyObject* object) {
  if (PyFloat_CheckExact(object)) return PyFloat_AS_DOUBLE(object);
  if (PyLong_CheckExact(object)) {
    int overflow = 0;
    const int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0) {
      throw OverflowError(
          fmt::format("Python integer {} does not fit into 64 bits; give it as a numpy "
                      "scalar of uint64, or as a float",
                      nb::repr(object).c_str()));
    }
    return value;
  }
  if (PyComplex_CheckExact(object)) {
    const Py_complex value = PyComplex_AsCComplex(object);
    return std::complex<double>(value.real, value.imag);
  }
  return std::nullopt;
}

Array from_array_protocol(PyObject* object) {
  PyObject* made = PyArray_FromAny(object, nullptr, 0, 0, 0, nullptr);
  if (!made) nb::raise_python_error();
  nb::object owner = nb::steal(made);
  return array_from_numpy(made, is_evaluating());
}

}  // namespace

Array array_from_numpy(PyObject* object, bool share) {
  auto* source = reinterpret_cast<PyArrayObject*>(object);
  const int type_number = PyArray_TYPE(source);
  const DType dtype = dtype_of_number(type_number);
  if (dtype == DType::kInvalid) {
    nb::object descriptor = nb::borrow(reinterpret_cast<PyObject*>(PyArray_DESCR(source)));
    throw TypeError(fmt::format(
        "a numpy array of dtype {} has no counterpart; arrays hold bool, "
        "integers, floats or complex numbers{}",
        nb::str(descriptor).c_str(),
        type_number == NPY_OBJECT ? ". dtype=object often comes from a list of unequal lengths"
                                  : ""));
  }
  const ShapeDtype type(
      dtype, std::span<const int64_t>(reinterpret_cast<const int64_t*>(PyArray_DIMS(source)),
                                      static_cast<size_t>(PyArray_NDIM(source))));
  void* const data = PyArray_DATA(source);
  const bool is_plain = PyArray_ISCARRAY_RO(source);  // dense, aligned for its type, native order
  const bool can_be_shared = is_plain && type.nbytes() > 0 && is_aligned(data) &&
                             !is_short_signed(dtype) && !shows_buffer(object);
  if (share && can_be_shared) {
    Py_INCREF(object);
    return Array(type, Storage::adopt(data, type.nbytes(), release_object, object));
  }
  Storage storage = Storage::allocate(type.nbytes());
  const std::span elements(static_cast<std::byte*>(storage.data()), type.nbytes());
  if (is_plain) {
    if (type.nbytes() > 0) std::memcpy(storage.data(), data, type.nbytes());
    extend_signs(dtype, elements);
    return Array(type, std::move(storage));
  }
  // numpy knows how to read its own strides and byte orders: it copies into our memory.
  PyObject* target = PyArray_NewFromDescr(
      &PyArray_Type, reinterpret_cast<PyArray_Descr*>(numpy_dtype(dtype).release().ptr()),
      PyArray_NDIM(source), PyArray_DIMS(source), nullptr, storage.data(), NPY_ARRAY_CARRAY,
      nullptr);
  if (!target) nb::raise_python_error();
  nb::object owner = nb::steal(target);
  if (PyArray_CopyInto(reinterpret_cast<PyArrayObject*>(target), source) < 0) {
    nb::raise_python_error();
  }
  extend_signs(dtype, elements);
  return Array(type, std::move(storage));
}

Array try_to_array(nb::handle object) {
  PyObject* const raw = object.ptr();
  if (is_array(raw)) return array_of(raw);
  if (PyBool_Check(raw)) return Array(raw == Py_True);
  if (const auto number = python_number(raw)) return Array::weak(*number);
  if (PyArray_Check(raw)) {
    const bool share = is_evaluating();
    Array array = array_from_numpy(raw, share);
    return share ? array : known_array(raw, std::move(array));
  }
  if (PyArray_CheckScalar(raw)) return from_array_protocol(raw);
  if (PyList_Check(raw) || PyTuple_Check(raw) || PyUnicode_Check(raw) || PyBytes_Check(raw) ||
      PyDict_Check(raw)) {
    return {};
  }
  const bool has_array_protocol = nb::hasattr(object, "__array__");
  if (is_buffer(object)) return from_array_protocol(raw);
  if (nb::hasattr(object, "__dlpack__")) {
    try {
      return from_dlpack(object, std::nullopt);
    } catch (nb::python_error& error) {
      // Some producers have dtypes that DLPack, or their version of it, does not know.
      if (!has_array_protocol || !error.matches(PyExc_Exception)) throw;
    } catch (const Error&) {
      if (!has_array_protocol) throw;
    }
  }
  if (has_array_protocol) return from_array_protocol(raw);
  // Subclasses of the numbers: enumerations, for instance.
  if (PyLong_Check(raw)) return try_to_array(nb::steal(PyNumber_Long(raw)));
  if (PyFloat_Check(raw)) return Array::weak(PyFloat_AsDouble(raw));
  return {};
}

Array to_array(nb::handle object, std::string_view what) {
  Array array;
  try {
    array = try_to_array(object);
  } catch (const Error& error) {
    error.raise_with(fmt::format("{}: {}", what, error.message()));
  }
  if (!array.is_null()) return array;
  const bool is_sequence = PyList_Check(object.ptr()) || PyTuple_Check(object.ptr());
  throw TypeError(
      fmt::format("{} must be an array or a number, got {} of type {}{}", what,
                  nb::repr(object).c_str(), python_type_name(object),
                  is_sequence ? ". Make one array of it with farcall.numpy.array" : ""));
}

std::vector<int64_t> to_sizes(nb::handle object, std::string_view what) {
  const auto one = [&](nb::handle item) {
    nb::object index = nb::steal(PyNumber_Index(item.ptr()));
    if (!index.is_valid()) {
      PyErr_Clear();
      throw TypeError(
          fmt::format("{} must be whole numbers, got {}", what, nb::repr(object).c_str()));
    }
    const int64_t value = PyLong_AsLongLong(index.ptr());
    if (value == -1 && PyErr_Occurred()) nb::raise_python_error();
    return value;
  };
  // Arrays claim to be an index and a sequence, whatever their rank.
  const bool is_sequence = PySequence_Check(object.ptr()) && PyObject_Length(object.ptr()) >= 0;
  PyErr_Clear();
  if (PyIndex_Check(object.ptr()) && !is_sequence) return {one(object)};
  std::vector<int64_t> sizes;
  nb::object iterator = nb::steal(PyObject_GetIter(object.ptr()));
  if (!iterator.is_valid()) {
    PyErr_Clear();
    throw TypeError(fmt::format("{} must be a whole number or a sequence of them, got {}", what,
                                nb::repr(object).c_str()));
  }
  while (PyObject* item = PyIter_Next(iterator.ptr())) sizes.push_back(one(nb::steal(item)));
  if (PyErr_Occurred()) nb::raise_python_error();
  return sizes;
}

nb::tuple to_tuple(std::span<const int64_t> values) {
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(values.size()));
  if (!tuple) nb::raise_python_error();
  for (size_t i = 0; i < values.size(); ++i) {
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(values[i]));
  }
  return nb::steal<nb::tuple>(tuple);
}

std::map<int64_t, int64_t> to_aliases(nb::handle aliases, std::string_view what) {
  const auto to_integer = [&](nb::handle object) {
    if (PyIndex_Check(object.ptr())) return to_sizes(object, what)[0];
    throw TypeError(
        fmt::format("{} must be whole numbers, got {}", what, nb::repr(object).c_str()));
  };
  std::map<int64_t, int64_t> result;
  if (aliases.is_none()) return result;
  if (!PyMapping_Check(aliases.ptr()) || !nb::hasattr(aliases, "items")) {
    throw TypeError(fmt::format("{} must be a dict from input to output index, got {}", what,
                                nb::repr(aliases).c_str()));
  }
  for (nb::handle item : nb::object(aliases.attr("items")())) {
    result[to_integer(nb::object(item[0]))] = to_integer(nb::object(item[1]));
  }
  return result;
}

ShapeDtype to_shape_dtype(nb::handle object, std::string_view what) {
  if (nb::isinstance<ShapeDtype>(object)) return nb::cast<ShapeDtype>(object).strengthened();
  if (!nb::hasattr(object, "shape") || !nb::hasattr(object, "dtype")) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{} must have attributes shape and dtype, for instance "
                            "farcall.ShapeDtypeStruct((2, 3), \"float32\"); got {} of type {}",
                            what, nb::repr(object).c_str(), python_type_name(object)));
  }
  if (is_array(object.ptr())) return array_of(object.ptr()).type().strengthened();
  nb::object dtype = object.attr("dtype");
  if (PyUnicode_Check(dtype.ptr()) && nb::cast<std::string>(dtype) == "token") {
    return ShapeDtype(DType::kToken, {});
  }
  const auto found = try_to_dtype(dtype);
  if (!found) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{} must have a dtype, got {}", what, nb::repr(dtype).c_str()));
  }
  const auto shape = to_sizes(object.attr("shape"), fmt::format("{}.shape", what));
  try {
    return ShapeDtype(*found, shape);
  } catch (const Error& error) {
    error.raise_with(fmt::format("{}: {}", what, error.message()));
    throw;  // not reached; raise_with does not return
  }
}

}  // namespace farcall::python
