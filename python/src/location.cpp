#include "location.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
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

// A str of the interpreter; null if it has no UTF-8 form.
std::string_view utf8(PyObject* text) {
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text, &size);
  if (!bytes) PyErr_Clear();
  return {bytes, bytes ? static_cast<size_t>(size) : 0};
}

// Returns use(frame, code, level) for the user's frame, or `otherwise` if there is none.
template <class T, class Use>
T with_user_frame(T otherwise, const Use& use) {
  PyFrameObject* frame = PyEval_GetFrame();  // borrowed
  Py_XINCREF(frame);
  for (int level = 1; frame; ++level) {
    const nb::object owner = nb::steal(reinterpret_cast<PyObject*>(frame));
    const nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    auto* const raw = reinterpret_cast<PyCodeObject*>(code.ptr());
    const std::string_view file = utf8(raw->co_filename);
    if (file.data() && !file.starts_with(package_folder())) return use(frame, raw, level);
    frame = PyFrame_GetBack(frame);
  }
  return otherwise;
}

// One line often makes several equations, which share its location.
SourceLocationPtr locate() {
  thread_local SourceLocationPtr last;
  if (!Py_IsInitialized() || !PyGILState_Check()) return nullptr;
  return with_user_frame(
      SourceLocationPtr(), [](PyFrameObject* frame, PyCodeObject* code, int) -> SourceLocationPtr {
        const std::string_view file = utf8(code->co_filename), name = utf8(code->co_name);
        const int line = PyFrame_GetLineNumber(frame);
        std::string function;
        for (const std::string& scope : scopes) function += scope;
        function += name.data() ? std::string(name) : display(code->co_name);
        if (!last || last->line != line || last->file != file || last->function != function) {
          last = std::make_shared<const SourceLocation>(
              SourceLocation{std::string(file), line, std::move(function)});
        }
        return last;
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
