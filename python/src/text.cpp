#include "text.h"

#include <fmt/format.h>

#include <farcall/core/error.h>

namespace farcall::python {
namespace {

constexpr Py_ssize_t kLongestRepr = 2000;

nb::object repr_or_nothing(nb::handle object) {
  nb::object text = nb::steal(PyObject_Repr(object.ptr()));
  if (text.is_valid()) return text;
  if (!PyErr_ExceptionMatches(PyExc_Exception)) nb::raise_python_error();
  PyErr_Clear();
  return {};
}

}  // namespace

std::string display(nb::handle text) {
  nb::object bytes = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
  if (!bytes.is_valid()) nb::raise_python_error();
  return {PyBytes_AS_STRING(bytes.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
}

std::string repr_of(nb::handle object) {
  nb::object text = repr_or_nothing(object);
  if (!text.is_valid()) return fmt::format("<{} object>", Py_TYPE(object.ptr())->tp_name);
  if (PyUnicode_GetLength(text.ptr()) <= kLongestRepr) return display(text);
  nb::object begin = nb::steal(PyUnicode_Substring(text.ptr(), 0, kLongestRepr));
  if (!begin.is_valid()) nb::raise_python_error();
  return fmt::format("{}…", display(begin));
}

std::string to_name(nb::handle text, std::string_view what) {
  if (!PyUnicode_Check(text.ptr())) {
    throw TypeError(fmt::format("{} must be a string, got {} of type {}", what, repr_of(text),
                                Py_TYPE(text.ptr())->tp_name));
  }
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (bytes) return {bytes, static_cast<size_t>(size)};
  if (!PyErr_ExceptionMatches(PyExc_UnicodeError)) nb::raise_python_error();
  PyErr_Clear();
  invalid_argument(
      fmt::format("{} must be text that UTF-8 can encode, got {}", what, repr_of(text)));
}

nb::object from_text(std::string_view text) {
  nb::object decoded =
      nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
  if (!decoded.is_valid()) nb::raise_python_error();
  return decoded;
}

}  // namespace farcall::python
