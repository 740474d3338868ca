#include "static_node.h"

#include <memory>
#include <utility>

#include <farcall/program/params.h>

#include "interpreter_lock.h"
#include "text.h"

namespace farcall::python {
namespace {

namespace nb = nanobind;

class StaticObject : public TreeNodeData {
 public:
  explicit StaticObject(nb::object value) : value_(std::move(value)) {}

  bool equals(const TreeNodeData& other) const override {
    const nb::handle others = static_cast<const StaticObject&>(other).value_;
    return make_same_program(value_.ptr(), others.ptr(), /*may_run_code=*/true);
  }
  size_t hash() const override {
    const Py_hash_t hash = PyObject_Hash(value_.ptr());
    if (hash == -1) nb::raise_python_error();
    return static_cast<size_t>(hash);
  }
  std::string to_string(std::span<const std::string>) const override { return repr_of(value_); }

 private:
  nb::object value_;
};

}  // namespace

bool is_plain(PyObject* object) {
  return object == Py_None || PyBool_Check(object) || PyLong_CheckExact(object) ||
         PyFloat_CheckExact(object) || PyUnicode_CheckExact(object);
}

bool make_same_program(PyObject* a, PyObject* b, bool may_run_code) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyFloat_CheckExact(a)) {
    return farcall::detail::same(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
  }
  if (PyTuple_CheckExact(a)) {
    if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); ++i) {
      const auto item = [i](PyObject* tuple) { return PyTuple_GET_ITEM(tuple, i); };
      if (!make_same_program(item(a), item(b), may_run_code)) return false;
    }
    return true;
  }
  return (may_run_code || is_plain(a)) && nb::handle(a).equal(nb::handle(b));
}

TreeDef static_node(nb::object value) {
  return TreeDef(TreeDef::Kind::kStatic, {}, share(StaticObject(std::move(value))));
}

}  // namespace farcall::python
