#include "known_attributes.h"

#include "numpy_api.h"

#include <cstring>
#include <string>
#include <utility>

#include "attributes.h"
#include "text.h"

namespace farcall::python {
namespace {

constexpr Py_ssize_t kMaxTextLength = 256;  // longer text is not kept alive
constexpr size_t kMaxNumberSize = 32;       // of numpy's numbers

bool is_numpy_number(PyObject* value) {
  if (!PyArray_IsScalar(value, Number) && !PyArray_IsScalar(value, Bool)) return false;
  const nb::object dtype = nb::steal(reinterpret_cast<PyObject*>(
      PyArray_DescrFromTypeObject(reinterpret_cast<PyObject*>(Py_TYPE(value)))));
  if (!dtype.is_valid()) {
    PyErr_Clear();
    return false;
  }
  const auto* descr = reinterpret_cast<PyArray_Descr*>(dtype.ptr());
  // A subclass may hold more than the number.
  return descr->typeobj == Py_TYPE(value) && PyTypeNum_ISNUMBER(descr->type_num);
}

// Requires that `value` was converted to UTF-8 before, if it is text.
bool is_short_text(PyObject* value) {
  return PyUnicode_CheckExact(value) && PyUnicode_GET_LENGTH(value) <= kMaxTextLength;
}

bool can_keep(PyObject* value) {
  return PyBool_Check(value) || PyLong_CheckExact(value) || PyFloat_CheckExact(value) ||
         is_short_text(value) || is_numpy_number(value);
}

// Both are exactly str.
bool is_same_text(PyObject* a, PyObject* b) { return a == b || PyUnicode_Compare(a, b) == 0; }

bool is_same_float(PyObject* a, PyObject* b) {
  const double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
  return std::memcmp(&x, &y, sizeof(x)) == 0;
}

// Both are numpy's numbers of one type.
bool is_same_number(PyObject* a, PyObject* b) {
  alignas(16) std::byte x[kMaxNumberSize] = {}, y[kMaxNumberSize] = {};
  PyArray_ScalarAsCtype(a, x);
  PyArray_ScalarAsCtype(b, y);
  return std::memcmp(x, y, sizeof(x)) == 0;
}

// `kept` is a value that can_keep.
bool is_same_value(PyObject* kept, PyObject* given) {
  if (kept == given) return true;
  if (Py_TYPE(kept) != Py_TYPE(given) || PyBool_Check(kept)) return false;
  if (PyFloat_CheckExact(kept)) return is_same_float(kept, given);
  if (PyUnicode_CheckExact(kept)) return is_same_text(kept, given);
  if (PyLong_CheckExact(kept)) return PyObject_RichCompareBool(kept, given, Py_EQ) == 1;
  return is_same_number(kept, given);
}

Attributes make_attributes(PyObject* const* values, PyObject* kwnames) {
  std::vector<std::pair<std::string, Attribute>> entries;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kwnames); ++i) {
    std::string name = to_name(PyTuple_GET_ITEM(kwnames, i), "the name of an attribute");
    Attribute value = to_attribute(values[i], name);
    entries.emplace_back(std::move(name), std::move(value));
  }
  return Attributes(std::move(entries));
}

}  // namespace

bool KnownAttributes::Call::is_of(PyObject* const* given, PyObject* kwnames) const {
  const size_t count = names.size();
  if (!attributes || count != static_cast<size_t>(PyTuple_GET_SIZE(kwnames))) return false;
  for (size_t i = 0; i < count; ++i) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, static_cast<Py_ssize_t>(i));
    if (!PyUnicode_CheckExact(name) || !is_same_text(names[i].ptr(), name)) return false;
  }
  for (size_t i = 0; i < count; ++i) {
    if (!is_same_value(values[i].ptr(), given[i])) return false;
  }
  return true;
}

std::shared_ptr<const Attributes> KnownAttributes::find_or_make(PyObject* const* values,
                                                                PyObject* kwnames) {
  for (const Call& call : calls_) {
    if (call.is_of(values, kwnames)) return call.attributes;
  }
  Call made{{}, {}, std::make_shared<const Attributes>(make_attributes(values, kwnames))};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kwnames); ++i) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, i);
    if (!is_short_text(name) || !can_keep(values[i])) return made.attributes;
    made.names.push_back(nb::borrow(name));
    made.values.push_back(nb::borrow(values[i]));
  }
  std::swap(calls_[next_], made);
  std::shared_ptr<const Attributes> attributes = calls_[next_].attributes;
  next_ = (next_ + 1) % kMaxCalls;
  return attributes;
}

}  // namespace farcall::python
