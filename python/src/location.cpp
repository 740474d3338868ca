#include "location.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>
#include <vector>

#include <farcall/trace/interpreter.h>

#include "text.h"

namespace farcall::python {
namespace {

const std::string& package_folder() {
  static const auto* folder = new std::string([] {
    nb::object file = nb::module_::import_("farcall").attr("__file__");
    const std::string path = display(file);
    return path.substr(0, path.rfind('/') + 1);
  }());
  return *folder;
}

// The names of the open scopes on this thread, each followed by a slash.
thread_local std::vector<std::string> scopes;

// Returns use(frame, code, level) for the user's frame, or `otherwise` if there is none.
template <class T, class Use>
T with_user_frame(T otherwise, const Use& use) {
  PyFrameObject* frame = PyEval_GetFrame();  // borrowed
  Py_XINCREF(frame);
  for (int level = 1; frame; ++level) {
    const nb::object owner = nb::steal(reinterpret_cast<PyObject*>(frame));
    const nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    auto* const raw = reinterpret_cast<PyCodeObject*>(code.ptr());
    const char* file = PyUnicode_AsUTF8(raw->co_filename);
    if (!file) PyErr_Clear();
    if (file && std::string_view(file).find(package_folder()) != 0) return use(frame, raw, level);
    frame = PyFrame_GetBack(frame);
  }
  return otherwise;
}

SourceLocationPtr locate() {
  if (!Py_IsInitialized() || !PyGILState_Check()) return nullptr;
  return with_user_frame(SourceLocationPtr(),
                         [](PyFrameObject* frame, PyCodeObject* code, int) -> SourceLocationPtr {
                           auto where = std::make_shared<SourceLocation>();
                           where->file = PyUnicode_AsUTF8(code->co_filename);
                           where->line = PyFrame_GetLineNumber(frame);
                           for (const std::string& scope : scopes) where->function += scope;
                           where->function += display(code->co_name);
                           return where;
                         });
}

}  // namespace

int user_stack_level() {
  return with_user_frame(1, [](PyFrameObject*, PyCodeObject*, int level) { return level; });
}

void bind_location(nb::module_& module) {
  set_location_provider(locate);
  module.def("push_scope", [](const std::string& name) { scopes.push_back(name + "/"); });
  module.def("pop_scope", [] { scopes.pop_back(); });
}

}  // namespace farcall::python
