#include "documented_function.h"

#include <structmember.h>

#include "errors.h"

namespace farcall::python {
namespace {

// Forwards calls to the core's function. `dict` holds the name, the signature and the docstring,
// which Python code sets.
struct FunctionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* target;
  PyObject* dict;
  PyObject* weak_references;
};

PyTypeObject* function_type = nullptr;

FunctionObject* object_of(PyObject* self) { return reinterpret_cast<FunctionObject*>(self); }

PyObject* forward(PyObject* self, PyObject* const* args, size_t nargs, PyObject* kwnames) {
  return PyObject_Vectorcall(object_of(self)->target, args, nargs, kwnames);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(object_of(self)->target);
  Py_VISIT(object_of(self)->dict);
  return 0;
}

// Keeps the target: calls use it without a test for null.
int clear(PyObject* self) {
  Py_CLEAR(object_of(self)->dict);
  return 0;
}

void deallocate(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (object_of(self)->weak_references) PyObject_ClearWeakRefs(self);
  PyTypeObject* type = Py_TYPE(self);
  Py_CLEAR(object_of(self)->target);
  Py_CLEAR(object_of(self)->dict);
  type->tp_free(self);
  Py_DECREF(type);
}

// As an attribute of a class, a Function does not become a method; Python's built-in functions do
// not either. It has __get__ only because inspect and pydoc then treat it as a routine.
PyObject* bind_to_instance(PyObject* self, PyObject*, PyObject*) { return Py_NewRef(self); }

PyObject* name_of(PyObject* self) { return PyObject_GetAttrString(self, "__name__"); }

PyObject* representation(PyObject* self) {
  return guarded([&]() -> PyObject* {
    nb::object name = nb::steal(name_of(self)), module = nb::handle(self).attr("__module__");
    if (!name.is_valid()) return nullptr;
    return PyUnicode_FromFormat("<function %U.%U>", module.ptr(), name.ptr());
  });
}

// Pickled by name, like Python functions.
PyObject* reduce(PyObject* self, PyObject*) { return name_of(self); }

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(FunctionObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(FunctionObject, weak_references), READONLY,
     nullptr},
    {}};

PyGetSetDef getters[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr}, {}};

PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {}};

PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>("A function of farcall.")},
                       {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_descr_get, reinterpret_cast<void*>(bind_to_instance)},
                       {Py_tp_repr, reinterpret_cast<void*>(representation)},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {Py_tp_getset, getters},
                       {0, nullptr}};

PyType_Spec spec = {"farcall.Function", sizeof(FunctionObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                        Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

nb::object make_function(nb::object target) {
  PyObject* made = function_type->tp_alloc(function_type, 0);
  if (!made) nb::raise_python_error();
  object_of(made)->vectorcall = forward;
  object_of(made)->target = target.release().ptr();
  return nb::steal(made);
}

}  // namespace

void bind_documented_function(nb::module_& module) {
  PyObject* made = PyType_FromSpec(&spec);
  if (!made) nb::raise_python_error();
  function_type = reinterpret_cast<PyTypeObject*>(made);
  module.attr("Function") = nb::handle(made);
  module.def("make_function", make_function, nb::arg("target"));
}

}  // namespace farcall::python
