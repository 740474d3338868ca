#include "location.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include <farcall/trace/interpreter.h>

namespace farcall::python {
namespace {

namespace nb = nanobind;

const std::string& package_folder() {
  static const auto* folder = new std::string([] {
    nb::object file = nb::module_::import_("farcall").attr("__file__");
    const std::string path = nb::cast<std::string>(file);
    return path.substr(0, path.rfind('/') + 1);
  }());
  return *folder;
}

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
      where->function = name ? name : "?";
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

void install_location_provider() { set_location_provider(locate); }

}  // namespace farcall::python
