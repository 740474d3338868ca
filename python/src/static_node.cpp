#include "static_node.h"

#include <memory>
#include <utility>

#include <farcall/program/params.h>

#include "interpreter_lock.h"
#include "text.h"

namespace farcall::python {
namespace {

namespace nb = nanobind;

bool make_same_program(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyFloat_CheckExact(a)) {
    return farcall::detail::same(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
  }
  if (PyTuple_CheckExact(a)) {
    if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); ++i) {
      if (!make_same_program(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) return false;
    }
    return true;
  }
  return nb::handle(a).equal(nb::handle(b));
}

class StaticObject : public TreeNodeData {
 public:
  explicit StaticObject(nb::object value) : value_(std::move(value)) {}

  bool equals(const TreeNodeData& other) const override {
    return make_same_program(value_.ptr(), static_cast<const StaticObject&>(other).value_.ptr());
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

TreeDef static_node(nb::object value) {
  TreeNodeDataPtr data(new StaticObject(std::move(value)), [](const StaticObject* dying) {
    with_interpreter([dying] { delete dying; });
  });
  return TreeDef(TreeDef::Kind::kStatic, {}, std::move(data));
}

}  // namespace farcall::python
