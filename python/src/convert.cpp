#include "convert.h"

#include "numpy_api.h"

#include <algorithm>
#include <complex>
#include <optional>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/scalar.h>
#include <farcall/program/transfers.h>
#include <farcall/trace/compile_time.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/placement.h>

#include "array_object.h"
#include "callbacks/buffer_object.h"
#include "dlpack.h"
#include "interpreter_lock.h"
#include "iterate.h"
#include "known_arrays.h"
#include "recursion.h"

namespace farcall::python {
namespace {

std::string python_type_name(nb::handle object) { return Py_TYPE(object.ptr())->tp_name; }

std::optional<ScalarNode::Number> python_number(PyObject* object) {
  if (PyFloat_CheckExact(object)) return PyFloat_AS_DOUBLE(object);
  if (PyLong_CheckExact(object)) {
    int overflow = 0;
    const int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0) {
      throw OverflowError(
          fmt::format("Python integer {} does not fit into 64 bits; give it as a numpy "
                      "scalar of uint64, or as a float",
                      repr_of(object)));
    }
    return value;
  }
  if (PyComplex_CheckExact(object)) {
    const Py_complex value = PyComplex_AsCComplex(object);
    return std::complex<double>(value.real, value.imag);
  }
  return std::nullopt;
}

Array from_array_protocol(PyObject* object, Intake intake) {
  PyObject* made = PyArray_FromAny(object, nullptr, 0, 0, 0, nullptr);
  if (!made) nb::raise_python_error();
  nb::object owner = nb::steal(made);
  return array_from_numpy(made, intake);
}

// What the method __jax_array__ of an object returns; null if it has none.
Array from_jax_array_protocol(nb::handle object, Intake intake) {
  nb::object made = nb::getattr(object, "__jax_array__", nb::handle());
  if (!made.is_valid()) return {};
  const Recursion recursion(" in __jax_array__");
  return to_array(made(), fmt::format("what {}.__jax_array__ returns", python_type_name(object)),
                  intake);
}

// Converts a Python int that does not fit into int64 but may fit into `dtype` (uint64, floats).
std::optional<Array> large_integer(PyObject* object, DType dtype) {
  int overflow = 0;
  PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow == 0) return std::nullopt;
  if (dtype == DType::kUInt64) {
    const uint64_t value = PyLong_AsUnsignedLongLong(object);
    if (!PyErr_Occurred()) return Array::scalar(value);
    PyErr_Clear();
  }
  if (is_integer(dtype)) {
    throw OverflowError(
        fmt::format("the number {} does not fit into {}", repr_of(object), dtype_name(dtype)));
  }
  const double value = PyLong_AsDouble(object);
  if (value == -1 && PyErr_Occurred()) nb::raise_python_error();
  return scalar_of(value, dtype);
}

// Null if the object is not a Python number.
Array number_of(DType dtype, PyObject* object) {
  if (PyBool_Check(object)) return scalar_of(int64_t{object == Py_True}, dtype);
  if (PyLong_CheckExact(object)) {
    if (auto large = large_integer(object, dtype)) return *large;
  }
  const auto number = python_number(object);
  return number ? scalar_of(*number, dtype) : Array();
}

}  // namespace

bool converts_to(PyObject* object, ShapeDtype type) {
  const auto comes_as = [&](PyArray_Descr* descriptor) {
    const DType dtype = dtype_of_number(descriptor->type_num);
    return dtype != DType::kInvalid && !type.weak_type() && incoming_dtype(dtype) == type.dtype();
  };
  if (PyArray_CheckExact(object)) {
    auto* const array = reinterpret_cast<PyArrayObject*>(object);
    const std::span shape(PyArray_DIMS(array), static_cast<size_t>(PyArray_NDIM(array)));
    return comes_as(PyArray_DESCR(array)) && std::ranges::equal(shape, type.shape());
  }
  if (type.rank() != 0) return false;
  if (PyBool_Check(object)) return type == Array(true).type();
  if (PyFloat_CheckExact(object)) return type == Array::weak(0.0).type();
  if (PyComplex_CheckExact(object)) return type == Array::weak(std::complex<double>()).type();
  if (PyLong_CheckExact(object)) {
    int overflow = 0;
    const int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0 && type == Array::weak(value).type();
  }
  if (!PyArray_IsScalar(object, Generic)) return false;
  nb::object descriptor = nb::steal(reinterpret_cast<PyObject*>(
      PyArray_DescrFromTypeObject(reinterpret_cast<PyObject*>(Py_TYPE(object)))));
  if (!descriptor.is_valid()) return PyErr_Clear(), false;
  auto* const raw = reinterpret_cast<PyArray_Descr*>(descriptor.ptr());
  return raw->typeobj == Py_TYPE(object) && comes_as(raw);
}

Array try_to_array(nb::handle object, Intake intake) {
  PyObject* const raw = object.ptr();
  if (is_array(raw)) return array_of(raw);
  if (PyBool_Check(raw)) return Array(raw == Py_True);
  if (const auto number = python_number(raw)) return Array::weak(*number);
  if (PyArray_Check(raw)) {
    Array array = array_from_numpy(raw, intake);
    return is_evaluating() ? array : known_array(raw, std::move(array));
  }
  if (PyArray_CheckScalar(raw)) return from_array_protocol(raw, intake);
  if (PyList_Check(raw) || PyTuple_Check(raw) || PyUnicode_Check(raw) || PyBytes_Check(raw) ||
      PyDict_Check(raw)) {
    return {};
  }
  if (is_buffer(object)) return from_array_protocol(raw, {.keeps_64_bits = true});
  if (Array made = from_jax_array_protocol(object, intake); !made.is_null()) return made;
  const bool has_array_protocol = nb::hasattr(object, "__array__");
  if (nb::hasattr(object, "__dlpack__")) {
    try {
      return from_dlpack(object, !intake.may_share);
    } catch (nb::python_error& error) {
      // Some producers have dtypes that DLPack, or their version of it, does not support.
      if (!has_array_protocol || !error.matches(PyExc_Exception)) throw;
    } catch (const Error&) {
      // __array__ of a tensor on a GPU raises another error.
      if (!has_array_protocol || dlpack_device_of(object).device_type != kDLCPU) throw;
    }
  }
  if (has_array_protocol) return from_array_protocol(raw, intake);
  // Subclasses of int and float, such as enumerations.
  if (PyLong_Check(raw)) return try_to_array(nb::steal(PyNumber_Long(raw)), intake);
  if (PyFloat_Check(raw)) return Array::weak(PyFloat_AsDouble(raw));
  return {};
}

Array to_array(nb::handle object, std::string_view what, Intake intake) {
  return to_array(
      object, [what] { return what; }, intake);
}

void not_an_array(nb::handle object, std::string_view what) {
  const bool is_sequence = PyList_Check(object.ptr()) || PyTuple_Check(object.ptr());
  throw TypeError(
      fmt::format("{} must be an array or a number, got {} of type {}{}", what, repr_of(object),
                  python_type_name(object),
                  is_sequence ? ". Make one array of it with farcall.numpy.array" : ""));
}

Array argument(nb::handle object, std::string_view function, const char* name) {
  if (is_array(object.ptr())) return array_of(object.ptr());
  return to_array(object, [&] { return fmt::format("{}: argument {}", function, name); });
}

Array to_array_of(DType dtype, nb::handle object, std::string_view what, bool may_share) {
  Array number;
  try {
    number = number_of(dtype, object.ptr());
  } catch (const Error& error) {
    error.raise_with(fmt::format("{}: {}", what, error.message()));
  }
  if (!number.is_null()) return number;
  // Truncates 64-bit floats directly when their 32-bit dtype is requested.
  const bool is_cut = PyArray_Check(object.ptr()) && !is_integer(dtype) &&
                      incoming_dtype(dtype_of_number(
                          PyArray_TYPE(reinterpret_cast<PyArrayObject*>(object.ptr())))) == dtype;
  // A function that is recorded has the converted values, and does not convert them in each run.
  std::optional<CompileTimeEval> now;
  if (!is_evaluating()) now.emplace();
  return numpy::astype(to_array(object, what, {!is_cut, may_share}), dtype);
}

namespace {

[[noreturn]] void too_many_items(std::string_view what) {
  invalid_argument(fmt::format("{} may have up to {} items, got more", what, kMaxItems));
}

// Rejects iterables that report an excessive length before they are walked, with the same error.
void check_length(nb::handle object, std::string_view what) {
  const Py_ssize_t hint = PyObject_LengthHint(object.ptr(), 0);
  if (hint < 0) nb::raise_python_error();
  if (static_cast<size_t>(hint) > kMaxItems) too_many_items(what);
}

}  // namespace

std::vector<int64_t> to_sizes(nb::handle object, std::string_view what) {
  const auto one = [&](nb::handle item) {
    check_known_integer(item, what);
    nb::object index = nb::steal(PyNumber_Index(item.ptr()));
    if (!index.is_valid()) {
      if (!PyErr_ExceptionMatches(PyExc_TypeError)) nb::raise_python_error();
      PyErr_Clear();
      throw TypeError(fmt::format("{} must be integers, got {}", what, repr_of(object)));
    }
    const int64_t value = PyLong_AsLongLong(index.ptr());
    if (value == -1 && PyErr_Occurred()) nb::raise_python_error();
    return value;
  };
  // Arrays implement __index__ and the sequence protocol regardless of rank.
  const bool is_sequence = PySequence_Check(object.ptr()) && PyObject_Length(object.ptr()) >= 0;
  PyErr_Clear();
  if (PyIndex_Check(object.ptr()) && !is_sequence) return {one(object)};
  if (!nb::object(nb::steal(PyObject_GetIter(object.ptr()))).is_valid()) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) nb::raise_python_error();
    PyErr_Clear();
    throw TypeError(
        fmt::format("{} must be an integer or a sequence of them, got {}", what, repr_of(object)));
  }
  check_length(object, what);
  std::vector<int64_t> sizes;
  for_each_item(object, [&](const nb::object& item) {
    if (sizes.size() == kMaxItems) too_many_items(what);
    sizes.push_back(one(item));
    return true;
  });
  return sizes;
}

int64_t to_size(nb::handle object, std::string_view what) {
  const std::vector<int64_t> sizes = to_sizes(object, what);
  if (sizes.size() == 1) return sizes[0];
  throw TypeError(fmt::format("{} must be an integer, got {}", what, repr_of(object)));
}

std::vector<Array> to_arrays(nb::handle object, std::string_view what) {
  if (PyUnicode_Check(object.ptr()) || PyDict_Check(object.ptr()) ||
      !nb::object(nb::steal(PyObject_GetIter(object.ptr()))).is_valid()) {
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError)) nb::raise_python_error();
    PyErr_Clear();
    throw TypeError(fmt::format("{} must be a sequence of arrays, got {}", what, repr_of(object)));
  }
  check_length(object, what);
  std::vector<Array> arrays;
  for_each_item(object, [&](const nb::object& item) {
    if (arrays.size() == kMaxItems) too_many_items(what);
    arrays.push_back(to_array(item, fmt::format("{}[{}]", what, arrays.size())));
    return true;
  });
  return arrays;
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
    if (PyIndex_Check(object.ptr())) return to_size(object, what);
    throw TypeError(fmt::format("{} must be integers, got {}", what, repr_of(object)));
  };
  std::map<int64_t, int64_t> result;
  if (aliases.is_none()) return result;
  if (!PyMapping_Check(aliases.ptr()) || !nb::hasattr(aliases, "items")) {
    throw TypeError(fmt::format("{} must be a dict from input to output index, got {}", what,
                                repr_of(aliases)));
  }
  for (nb::handle item : nb::object(aliases.attr("items")())) {
    result[to_integer(nb::object(item[0]))] = to_integer(nb::object(item[1]));
  }
  return result;
}

ShapeDtype to_shape_dtype(nb::handle object, std::string_view what) {
  if (nb::isinstance<ShapeDtype>(object)) return nb::cast<ShapeDtype>(object).strengthened();
  if (!nb::hasattr(object, "shape") || !nb::hasattr(object, "dtype")) {
    invalid_argument(
        fmt::format("{} must have attributes shape and dtype, for instance "
                    "farcall.ShapeDtypeStruct((2, 3), \"float32\"); got {} of type {}",
                    what, repr_of(object), python_type_name(object)));
  }
  if (is_array(object.ptr())) return array_of(object.ptr()).type().strengthened();
  nb::object dtype = object.attr("dtype");
  const bool is_data = PyArray_Check(object.ptr()) || PyArray_CheckScalar(object.ptr());
  if (PyUnicode_Check(dtype.ptr()) && PyUnicode_CompareWithASCIIString(dtype.ptr(), "token") == 0) {
    return ShapeDtype(DType::kToken, {});
  }
  const auto found = try_to_dtype(dtype);
  if (!found) {
    invalid_argument(fmt::format("{} must have a dtype, got {}", what, repr_of(dtype)));
  }
  const auto shape = to_sizes(object.attr("shape"), fmt::format("{}.shape", what));
  try {
    return ShapeDtype(is_data ? incoming_dtype(*found) : *found, shape);
  } catch (const Error& error) {
    error.raise_with(fmt::format("{}: {}", what, error.message()));
    throw;  // not reached: raise_with does not return
  }
}

Array on_default_device(Array array) {
  if (default_device_number() == 0) return array;
  const Device& device = default_device();
  if (device.is_host() || !array.node().storage() || !is_evaluating()) return array;
  guard_transfer(array.type(), array.storage(), device);
  try {
    return placed_array(array.type(), to_device(device, array.type(), array.storage()),
                        /*is_committed=*/false);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnimplemented) throw;
    return array;  // the device has no arrays of this dtype
  }
}

}  // namespace farcall::python
