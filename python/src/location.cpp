#include "location.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
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

// What is known about a code object. Python keeps it as long as the code object. Guarded by the
// interpreter lock.
struct CodeFacts {
  bool is_of_user = false;  // not farcall's own
  // By offset of the instruction. Locations inside of named scopes are not kept.
  std::unordered_map<int, SourceLocationPtr> locations;
  SourceLocationPtr last;  // instructions of one line share its location
};

#if PY_VERSION_HEX >= 0x030C0000
constexpr auto request_index = PyUnstable_Eval_RequestCodeExtraIndex;
constexpr auto get_extra = PyUnstable_Code_GetExtra;
constexpr auto set_extra = PyUnstable_Code_SetExtra;
#else
constexpr auto request_index = _PyEval_RequestCodeExtraIndex;
constexpr auto get_extra = _PyCode_GetExtra;
constexpr auto set_extra = _PyCode_SetExtra;
#endif

CodeFacts make_facts(PyCodeObject* code) {
  const std::string_view file = utf8(code->co_filename);
  return {file.data() && !file.starts_with(package_folder()), {}, {}};
}

// The facts about the code object. `otherwise` receives them if Python cannot keep them.
CodeFacts& facts_of(PyCodeObject* code, std::optional<CodeFacts>& otherwise) {
  static const Py_ssize_t index =
      request_index([](void* facts) { delete static_cast<CodeFacts*>(facts); });
  auto* const object = reinterpret_cast<PyObject*>(code);
  void* known = nullptr;
  if (index >= 0 && get_extra(object, index, &known) == 0 && known) {
    return *static_cast<CodeFacts*>(known);
  }
  auto made = std::make_unique<CodeFacts>(make_facts(code));
  if (index >= 0 && set_extra(object, index, made.get()) == 0) return *made.release();
  PyErr_Clear();
  return otherwise.emplace(std::move(*made));
}

// Returns use(frame, code, facts, level) for the user's frame, or `fallback` if there is none.
template <class T, class Use>
T with_user_frame(T fallback, const Use& use) {
  PyFrameObject* frame = PyEval_GetFrame();  // borrowed
  Py_XINCREF(frame);
  for (int level = 1; frame; ++level) {
    const nb::object owner = nb::steal(reinterpret_cast<PyObject*>(frame));
    const nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    auto* const raw = reinterpret_cast<PyCodeObject*>(code.ptr());
    std::optional<CodeFacts> unkept;
    CodeFacts& facts = facts_of(raw, unkept);
    if (facts.is_of_user) return use(frame, raw, facts, level);
    frame = PyFrame_GetBack(frame);
  }
  return fallback;
}

// The offset of the running instruction; before Python 3.11 its line.
int position_in(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030B0000
  return PyFrame_GetLasti(frame);
#else
  return PyFrame_GetLineNumber(frame);
#endif
}

SourceLocationPtr make_location(PyCodeObject* code, int line) {
  std::string function;
  for (const std::string& scope : scopes) function += scope;
  function += display(code->co_name);
  return std::make_shared<const SourceLocation>(
      SourceLocation{std::string(utf8(code->co_filename)), line, std::move(function)});
}

SourceLocationPtr locate() {
  if (!Py_IsInitialized() || !PyGILState_Check()) return nullptr;
  return with_user_frame(
      SourceLocationPtr(),
      [](PyFrameObject* frame, PyCodeObject* code, CodeFacts& facts, int) -> SourceLocationPtr {
        if (!scopes.empty()) return make_location(code, PyFrame_GetLineNumber(frame));
        SourceLocationPtr& known = facts.locations[position_in(frame)];
        if (!known) {
          const int line = PyFrame_GetLineNumber(frame);
          if (!facts.last || facts.last->line != line) facts.last = make_location(code, line);
          known = facts.last;
        }
        return known;
      });
}

}  // namespace

int user_stack_level() {
  return with_user_frame(
      1, [](PyFrameObject*, PyCodeObject*, CodeFacts&, int level) { return level; });
}

void bind_location(nb::module_& module) {
  set_location_provider(locate);
  module.def("push_scope", [](const std::string& name) { scopes.push_back(name + "/"); });
  module.def("pop_scope", [] { scopes.pop_back(); });
}

}  // namespace farcall::python
