// The attributes of a function for what wraps it.
#include <nanobind/nanobind.h>

#include "bind.h"

namespace farcall::python {
namespace {

nb::handle assigned_names;  // functools.WRAPPER_ASSIGNMENTS, never freed

// Whether the call that returned this result failed because of an attribute. Raises other errors.
bool is_refused(bool has_failed) {
  if (!has_failed) return false;
  if (!PyErr_ExceptionMatches(PyExc_AttributeError) && !PyErr_ExceptionMatches(PyExc_TypeError)) {
    nb::raise_python_error();
  }
  PyErr_Clear();
  return true;
}

// functools.update_wrapper, except that attributes which Python does not accept are left out. In
// C++, because each function that jit, grad or vmap makes needs it.
nb::object update_wrapper(nb::object wrapper, nb::handle wrapped) {
  for (nb::handle name : nb::borrow<nb::tuple>(assigned_names)) {
    const nb::object value = nb::steal(PyObject_GetAttr(wrapped.ptr(), name.ptr()));
    if (is_refused(!value.is_valid())) continue;
    is_refused(PyObject_SetAttr(wrapper.ptr(), name.ptr(), value.ptr()) < 0);
  }
  const nb::object attributes = nb::getattr(wrapped, "__dict__", nb::object());
  if (attributes.is_valid() && nb::len(attributes) > 0)
    wrapper.attr("__dict__").attr("update")(attributes);
  wrapper.attr("__wrapped__") = wrapped;
  return wrapper;
}

}  // namespace

void bind_update_wrapper(nb::module_& module) {
  assigned_names =
      nb::object(nb::module_::import_("functools").attr("WRAPPER_ASSIGNMENTS")).release();
  module.def("update_wrapper", update_wrapper, nb::arg("wrapper"), nb::arg("wrapped"));
}

}  // namespace farcall::python
