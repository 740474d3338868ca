#include "attributes.h"

#include <nanobind/stl/string.h>

#include "numpy_api.h"

#include <cstring>

#include <fmt/format.h>

#include <farcall/core/error.h>

#include "array_object.h"
#include "convert.h"
#include "recursion.h"

namespace farcall::python {
namespace {

[[noreturn]] void unsupported(nb::handle value, const std::string& name,
                              std::string_view hint = {}) {
  throw TypeError(
      fmt::format("attribute \"{}\" is {} of type {}, which cannot be passed to a foreign "
                  "function. Attributes are "
                  "bool, int, float, complex, str, bytes, numpy scalars and arrays, lists of "
                  "numbers, and dicts of "
                  "these{}",
                  name, repr_of(value), Py_TYPE(value.ptr())->tp_name, hint));
}

Attribute from_int(PyObject* value, const std::string& name) {
  int overflow = 0;
  const int64_t narrow = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow == 0) {
    if (narrow == -1 && PyErr_Occurred()) nb::raise_python_error();
    return narrow;
  }
  const uint64_t wide = overflow > 0 ? PyLong_AsUnsignedLongLong(value) : 0;
  if (overflow < 0 || PyErr_Occurred()) {
    PyErr_Clear();
    throw OverflowError(fmt::format("attribute \"{}\" is {}, which does not fit into 64 bits", name,
                                    repr_of(value)));
  }
  return wide;
}

Attribute from_numpy(PyObject* array, const std::string& name) {
  if (!PyArray_CheckExact(array)) {
    with_error_prefix(fmt::format("attribute \"{}\"", name), [&] { check_not_masked(array); });
  }
  auto* source = reinterpret_cast<PyArrayObject*>(array);
  const DType dtype = dtype_of_number(PyArray_TYPE(source));
  if (dtype == DType::kInvalid) unsupported(array, name);
  nb::object dense = nb::steal(PyArray_FROM_OF(array, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_NOTSWAPPED));
  if (!dense.is_valid()) nb::raise_python_error();
  auto* plain = reinterpret_cast<PyArrayObject*>(dense.ptr());
  const auto count = static_cast<size_t>(PyArray_SIZE(plain));
  const auto* begin = static_cast<const std::byte*>(PyArray_DATA(plain));
  std::vector<std::byte> bytes(begin, begin + count * byte_width(dtype));
  extend_signs(dtype, bytes);
  return PyArray_NDIM(plain) == 0 ? Attribute::scalar(dtype, bytes)
                                  : Attribute::array(dtype, count, bytes).plain();
}

// The element type of a list: the same dtype for all, except that ints may mix with floats, and
// both with complex numbers.
DType widen(DType a, DType b, nb::handle list, const std::string& name) {
  constexpr DType kOrder[] = {DType::kInt64, DType::kFloat64, DType::kComplex128};
  if (a == b) return a;
  const auto* at_a = std::find(std::begin(kOrder), std::end(kOrder), a);
  const auto* at_b = std::find(std::begin(kOrder), std::end(kOrder), b);
  if (at_a == std::end(kOrder) || at_b == std::end(kOrder)) {
    unsupported(list, name,
                fmt::format(". The list mixes {} and {}; give a numpy array of one dtype",
                            dtype_name(a), dtype_name(b)));
  }
  return *std::max(at_a, at_b);
}

void append_number(const Attribute& number, DType to, std::vector<std::byte>& bytes) {
  const auto append = [&](auto value) {
    const auto* begin = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), begin, begin + sizeof(value));
  };
  if (number.dtype() == to) {
    bytes.insert(bytes.end(), number.bytes().begin(), number.bytes().end());
  } else if (to == DType::kFloat64) {
    append(static_cast<double>(number.as<int64_t>()));
  } else {
    append(std::complex<double>(number.dtype() == DType::kInt64
                                    ? static_cast<double>(number.as<int64_t>())
                                    : number.as<double>()));
  }
}

Attribute from_list(nb::handle list, const std::string& name) {
  std::vector<Attribute> numbers;
  for (nb::handle item : nb::borrow<nb::sequence>(list)) {
    if (PyUnicode_Check(item.ptr()) || PyBytes_Check(item.ptr()) || PyDict_Check(item.ptr()) ||
        PyList_Check(item.ptr()) || PyTuple_Check(item.ptr())) {
      unsupported(list, name, ". A list may hold numbers only");
    }
    numbers.push_back(to_attribute(item, name));
    if (numbers.back().kind() != Attribute::Kind::kScalar) {
      unsupported(list, name, ". A list may hold numbers only");
    }
  }
  DType dtype = numbers.empty() ? DType::kInt64 : numbers[0].dtype();
  for (const Attribute& number : numbers) dtype = widen(dtype, number.dtype(), list, name);
  std::vector<std::byte> bytes;
  for (const Attribute& number : numbers) append_number(number, dtype, bytes);
  return Attribute::array(dtype, numbers.size(), bytes).plain();
}

}  // namespace

Attribute to_attribute(nb::handle value, const std::string& name) {
  PyObject* const raw = value.ptr();
  if (PyBool_Check(raw)) return Attribute(raw == Py_True).plain();
  if (PyArray_Check(raw)) return from_numpy(raw, name);
  // Must precede the test for numpy scalars: numpy's strings are also str.
  if (PyUnicode_Check(raw)) {
    return to_name(value, fmt::format("attribute \"{}\"", name));
  }
  if (PyBytes_Check(raw)) {
    return std::string(PyBytes_AS_STRING(raw), static_cast<size_t>(PyBytes_GET_SIZE(raw)));
  }
  // numpy.float64 is also a Python float, but as a numpy scalar it has an explicit type.
  if (PyArray_CheckScalar(raw)) {
    nb::object array = nb::steal(PyArray_FromAny(raw, nullptr, 0, 0, 0, nullptr));
    if (!array.is_valid()) nb::raise_python_error();
    return from_numpy(array.ptr(), name);
  }
  if (PyLong_Check(raw)) return from_int(raw, name).plain();
  if (PyFloat_Check(raw)) return Attribute(PyFloat_AsDouble(raw)).plain();
  if (PyComplex_Check(raw)) {
    return Attribute(std::complex<double>(PyComplex_RealAsDouble(raw), PyComplex_ImagAsDouble(raw)))
        .plain();
  }
  if (PyList_Check(raw) || PyTuple_Check(raw)) return from_list(value, name);
  if (PyDict_Check(raw)) return to_attributes(value, name);
  if (is_array(raw)) {
    unsupported(value, name,
                ". An array is passed as a positional argument; a constant as a numpy array");
  }
  unsupported(value, name);
}

Attributes to_attributes(nb::handle dict, const std::string& where) {
  const Recursion recursion(" in the attributes of a foreign call");
  std::vector<std::pair<std::string, Attribute>> entries;
  // A copy, because converting a value may run Python code that changes the dict.
  const nb::object items = nb::steal(PyDict_Items(dict.ptr()));
  if (!items.is_valid()) nb::raise_python_error();
  for (nb::handle item : items) {
    const nb::object key = item[0], value = item[1];
    if (!PyUnicode_Check(key.ptr())) {
      throw TypeError(fmt::format("attribute \"{}\": the keys of a dict must be strings, got {}",
                                  where, repr_of(key)));
    }
    std::string name = to_name(key, "the name of an attribute");
    Attribute attribute = to_attribute(value, where.empty() ? name : where + "." + name);
    entries.emplace_back(std::move(name), std::move(attribute));
  }
  return Attributes(std::move(entries));
}

nb::object from_attribute(const Attribute& attribute) {
  switch (attribute.kind()) {
    case Attribute::Kind::kString: {
      const std::string& text = attribute.as_string();
      PyObject* decoded =
          PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), nullptr);
      if (decoded) return nb::steal(decoded);
      PyErr_Clear();
      return nb::bytes(text.data(), text.size());
    }
    case Attribute::Kind::kDictionary:
      return from_attributes(attribute.as_dictionary());
    default:
      break;
  }
  nb::object numpy = nb::module_::import_("numpy");
  const auto bytes = attribute.bytes();
  nb::object array =
      numpy.attr("frombuffer")(nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                               "dtype"_a = numpy_dtype(attribute.dtype()));
  return attribute.kind() == Attribute::Kind::kScalar ? nb::object(array[0]) : array;
}

nb::dict from_attributes(const Attributes& attributes) {
  nb::dict dict;
  for (const auto& [name, value] : attributes) dict[from_text(name)] = from_attribute(value);
  return dict;
}

}  // namespace farcall::python
