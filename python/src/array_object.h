// farcall.Array in Python: a plain CPython object that holds a farcall::Array.
//
// It uses the C API directly instead of nanobind: every call creates one, and a call takes only a
// few hundred nanoseconds.
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
  // The neighbours in the list of all live objects, which the interpreter lock guards.
  ArrayObject* older;
  ArrayObject* newer;
};

extern PyTypeObject* array_type;  // set by bind_array_type

inline bool is_array(PyObject* object) { return Py_TYPE(object) == array_type; }
inline const Array& array_of(PyObject* object) {
  return reinterpret_cast<ArrayObject*>(object)->value;
}

// A new reference; null with a Python error if out of memory.
PyObject* wrap(Array array) noexcept;
nb::object wrap_object(Array array);
nb::list wrap_all(std::span<const Array> arrays);

// Waits for the values of a concrete array. Raises for a deleted one, and the error of a
// computation that has failed.
void wait_for(const Array& array);

void bind_array_type(nb::module_& module);

// ---- protocols (array_protocols.cpp) ----

// The values, for this conversion. If they are unknown, raises with advice for the conversion.
const Storage& values_for(const Array& array, Conversion conversion);
// Raises if the object is a traced array of unknown value and the integer `what`, such as a size,
// is required; the message says how to make it known. Accepts everything else.
void check_known_integer(nb::handle object, std::string_view what);
// Raises for an array that is not concrete and is to become a `wanted`. That would be a constant,
// so an array that is being differentiated would lose its derivative.
void check_concrete(const Array& array, const char* wanted);
// The read-only numpy array that shares this array's memory: a new reference, or null with an
// error.
PyObject* as_numpy(PyObject* self);
int get_buffer(PyObject* self, Py_buffer* view, int flags);
PyObject* to_dlpack(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* dlpack_device(PyObject* self, PyObject*);
PyObject* cuda_array_interface(PyObject* self, void*);
// Imports any object with __dlpack__.
Array from_dlpack(nb::handle object, std::optional<bool> copy);

}  // namespace farcall::python
