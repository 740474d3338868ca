#include "call_pattern.h"

#include <algorithm>
#include <string>
#include <utility>

#include "array_object.h"
#include "convert.h"
#include "static_node.h"
#include "tree.h"

namespace farcall::python {
namespace {

// Matching a call against a pattern must not run user code.
bool is_same(PyObject* object, PyObject* wanted) {
  return make_same_program(object, wanted, /*may_run_code=*/false);
}

bool are_same_names(PyObject* names, PyObject* wanted) {
  return names == wanted || (names && wanted && is_same(names, wanted));
}

}  // namespace

bool CallPattern::add(const TreeDef& node, std::span<const nb::object>& leaves,
                      std::span<const ShapeDtype>& types) {
  using Node = TreeDef::Kind;
  if (node.is_leaf()) {
    PyObject* const leaf = leaves.front().ptr();
    const ShapeDtype type = types.front();
    leaves = leaves.subspan(1);
    types = types.subspan(1);
    const bool is_known =
        is_array(leaf) ? array_of(leaf).node().storage() != nullptr : converts_to(leaf, type);
    if (node.data() || !is_known) return false;
    steps_.push_back({.kind = Kind::kArray, .type = type});
    return ++num_leaves_ <= kMaxLeaves;
  }
  Step step{.kind = Kind::kNone, .size = node.children().size()};
  if (node.kind() == Node::kTuple) {
    step.kind = Kind::kTuple;
  } else if (node.kind() == Node::kList) {
    step.kind = Kind::kList;
  } else if (is_named_tuple(node)) {
    step.kind = Kind::kNamedTuple;
    step.object = class_of(node);
  } else if (is_dict(node)) {
    step.kind = Kind::kDict;
    step.object = keys_of(node);
    for (nb::handle key : step.object) {
      if (!is_plain(key.ptr())) return false;
    }
  } else if (node.kind() != Node::kNone) {
    return false;
  }
  steps_.push_back(std::move(step));
  return std::ranges::all_of(node.children(),
                             [&](const TreeDef& child) { return add(child, leaves, types); });
}

void CallPattern::add_static(nb::object value) {
  steps_.push_back({.kind = Kind::kStatic, .object = std::move(value)});
}

std::optional<CallPattern> CallPattern::of(const CallArguments& arguments,
                                           std::span<const ShapeDtype> types, PyObject* kwnames) {
  CallPattern pattern;
  pattern.nargs_ = arguments.positional.size();
  std::span<const nb::object> leaves(arguments.leaves);
  const TreeDef& positional = arguments.tree.children()[0];
  size_t next = 0;
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    if (arguments.is_static[i]) {
      pattern.add_static(arguments.positional[i]);
    } else if (!pattern.add(positional.children()[next++], leaves, types)) {
      return std::nullopt;
    }
  }
  if (!kwnames || PyTuple_GET_SIZE(kwnames) == 0) return pattern;
  pattern.kwnames_ = nb::borrow(kwnames);
  const auto place_of = [&](nb::handle name) {
    size_t i = 0;
    while (!is_same(PyTuple_GET_ITEM(kwnames, static_cast<Py_ssize_t>(i)), name.ptr())) ++i;
    return i;
  };
  const TreeDef& keywords = arguments.tree.children()[1];
  next = 0;
  for (nb::handle name : keys_of(keywords)) {
    pattern.keyword_order_.push_back(place_of(name));
    if (!pattern.add(keywords.children()[next++], leaves, types)) return std::nullopt;
  }
  for (auto [name, value] : arguments.static_keywords) {
    pattern.keyword_order_.push_back(place_of(name));
    pattern.add_static(nb::borrow(value));
  }
  return pattern;
}

struct CallPattern::Walk {
  const Step* step;
  Leaves& leaves;
  size_t next = 0;  // index of the next leaf

  bool enter(PyObject* object) {
    const Step& wanted = *step++;
    const auto size = static_cast<Py_ssize_t>(wanted.size);
    switch (wanted.kind) {
      case Kind::kArray:
        leaves.objects[next] = object;
        if (!is_array(object)) {
          leaves.storages[next++] = nullptr;
          return converts_to(object, wanted.type);
        }
        if (!(array_of(object).type() == wanted.type)) return false;
        return (leaves.storages[next++] = array_of(object).node().storage()) != nullptr;
      case Kind::kNone:
        return object == Py_None;
      case Kind::kTuple:
        return PyTuple_CheckExact(object) && enter_items(object, size);
      case Kind::kNamedTuple:
        return Py_TYPE(object) == reinterpret_cast<PyTypeObject*>(wanted.object.ptr()) &&
               enter_items(object, size);
      case Kind::kList:
        if (!PyList_CheckExact(object) || PyList_GET_SIZE(object) != size) return false;
        for (Py_ssize_t i = 0; i < size; ++i) {
          if (!enter(PyList_GET_ITEM(object, i))) return false;
        }
        return true;
      case Kind::kDict:
        return PyDict_CheckExact(object) && PyDict_GET_SIZE(object) == size &&
               enter_values(object, wanted.object.ptr());
      case Kind::kStatic:
        return is_same(object, wanted.object.ptr());
    }
    return false;
  }

 private:
  bool enter_items(PyObject* tuple, Py_ssize_t size) {
    if (PyTuple_GET_SIZE(tuple) != size) return false;
    for (Py_ssize_t i = 0; i < size; ++i) {
      if (!enter(PyTuple_GET_ITEM(tuple, i))) return false;
    }
    return true;
  }

  bool enter_values(PyObject* dict, PyObject* keys) {
    // A key lookup compares keys, which runs user code unless they are plain.
    PyObject* other = nullptr;
    for (Py_ssize_t i = 0; PyDict_Next(dict, &i, &other, nullptr);) {
      if (!is_plain(other)) return false;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys); ++i) {
      PyObject* value = PyDict_GetItemWithError(dict, PyList_GET_ITEM(keys, i));
      if (!value || !enter(value)) return false;
    }
    return true;
  }
};

bool CallPattern::matches(PyObject* const* args, size_t nargs, PyObject* kwnames,
                          Leaves& leaves) const {
  if (kwnames && PyTuple_GET_SIZE(kwnames) == 0) kwnames = nullptr;
  if (nargs != nargs_ || !are_same_names(kwnames, kwnames_.ptr())) return false;
  Walk walk{steps_.data(), leaves};
  for (size_t i = 0; i < nargs; ++i) {
    if (!walk.enter(args[i])) return false;
  }
  return std::ranges::all_of(keyword_order_,
                             [&](size_t place) { return walk.enter(args[nargs + place]); });
}

HeldLeaves::References::References(std::span<PyObject* const> objects) : objects(objects) {
  for (PyObject* object : objects) Py_INCREF(object);
}
HeldLeaves::References::~References() {
  for (PyObject* object : objects) Py_DECREF(object);
}

HeldLeaves::HeldLeaves(CallPattern::Leaves& leaves, size_t count, bool shares_memory)
    : leaves_(leaves), count_(count), references_({leaves.objects, count}) {
  for (size_t i = 0; i < count; ++i) {
    if (leaves.storages[i]) continue;
    made_.push_back(try_to_array(leaves.objects[i],
                                 {.may_share = shares_memory, .may_be_unaligned = shares_memory}));
    leaves.storages[i] = made_.back().node().storage();
  }
}

}  // namespace farcall::python
