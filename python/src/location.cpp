#include "location.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>
#include <vector>

#include <farcall/trace/interpreter.h>

namespace farcall::python {
namespace {

const std::string& package_folder() {
  static const auto* folder = new std::string([] {
    nb::object file = nb::module_::import_("farcall").attr("__file__");
    const std::string path = nb::cast<std::string>(file);
    return path.substr(0, path.rfind('/') + 1);
  }());
  return *folder;
}

// The names of the scopes that are open on this thread, each followed by a slash.
thread_local std::vector<std::string> scopes;

SourceLocationPtr locate() {
  if (!Py_IsInitialized() || !PyGILState_Check()) return nullptr;
  PyFrameObject* frame = PyEval_GetFrame();  // borrowed
  Py_XINCREF(frame);
  while (frame) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    const char* file = PyUnicode_AsUTF8(code->co_filename);
    if (file && std::string_view(file).find(package_folder()) != 0) {
      auto where = std::make_shared<SourceLocation>();
      where->file = file;
      where->line = PyFrame_GetLineNumber(frame);
      const char* name = PyUnicode_AsUTF8(code->co_name);
      for (const std::string& scope : scopes) where->function += scope;
      where->function += name ? name : "?";
      Py_DECREF(code);
      Py_DECREF(frame);
      return where;
    }
    if (!file) PyErr_Clear();
    Py_DECREF(code);
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  return nullptr;
}

}  // namespace

void bind_location(nb::module_& module) {
  set_location_provider(locate);
  module.def("push_scope", [](const std::string& name) { scopes.push_back(name + "/"); });
  module.def("pop_scope", [] { scopes.pop_back(); });
}

}  // namespace farcall::python
