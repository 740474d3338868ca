// farcall.Array in Python: a plain CPython object that holds a farcall::Array.
//
// Written against the C API rather than through the binding library, because a call of a few
// hundred nanoseconds makes one of these.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include <farcall/trace/array.h>

#include "errors.h"

namespace farcall::python {

namespace nb = nanobind;
using namespace nanobind::literals;

struct ArrayObject {
  PyObject_HEAD Array value;
  PyObject* weak_references;
};

extern PyTypeObject* array_type;  // set by bind_array_type

inline bool is_array(PyObject* object) { return Py_TYPE(object) == array_type; }
inline const Array& array_of(PyObject* object) {
  return reinterpret_cast<ArrayObject*>(object)->value;
}

// A new reference; null with a Python error when there is no memory.
PyObject* wrap(Array array) noexcept;
nb::object wrap_object(Array array);
nb::list wrap_all(std::span<const Array> arrays);

void bind_array_type(nb::module_& module);

// ---- protocols (array_protocols.cpp) ----

// The values, for this conversion; raises where they are not known, with what helps there.
const Storage& values_for(const Array& array, Conversion conversion);
// Raises for an array that is not concrete. `wanted` is what its values were wanted as: that would
// be a constant, and an array that is being differentiated would lose its derivative.
// Raises for a traced array where a size or another whole number `what` is needed, saying how it
// gets known. Nothing else is looked at.
void check_known_integer(nb::handle object, std::string_view what);
void check_concrete(const Array& array, const char* wanted);
// The numpy array that shares this array's memory, read-only; a new reference, or null with an
// error.
PyObject* as_numpy(PyObject* self);
int get_buffer(PyObject* self, Py_buffer* view, int flags);
PyObject* to_dlpack(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* dlpack_device(PyObject* self, PyObject*);
// From anything with __dlpack__.
Array from_dlpack(nb::handle object, std::optional<bool> copy);

}  // namespace farcall::python
