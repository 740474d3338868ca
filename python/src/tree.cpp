#include "tree.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <fmt/format.h>

#include <farcall/core/error.h>

#include "float0.h"
#include "iterate.h"
#include "recursion.h"
#include "text.h"

namespace farcall::python {
namespace {

using Kind = TreeNode::Kind;

// Classes that users registered, with their two functions; a dict that lives as long as the
// process.
nb::dict& registry() {
  static auto* classes = new nb::dict;
  return *classes;
}

bool is_named_tuple(nb::handle object) {
  return PyTuple_Check(object.ptr()) && !PyTuple_CheckExact(object.ptr()) &&
         nb::hasattr(object, "_fields");
}

nb::list sorted_keys(nb::handle dict) {
  nb::object keys = nb::steal(PyDict_Keys(dict.ptr()));
  if (!keys.is_valid()) nb::raise_python_error();
  if (PyList_Sort(keys.ptr()) < 0) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) nb::raise_python_error();
    PyErr_Clear();
    throw TypeError(
        fmt::format("the keys of a dict in a pytree must be comparable to one another, got "
                    "{}",
                    repr_of(keys)));
  }
  return nb::borrow<nb::list>(keys);
}

// Deeper trees would not fit on the stack of another thread, whatever this one has.
constexpr size_t kMaxDepth = 5000;

// As Python's `if` takes what a function returns: None, numpy's bools and numbers too.
bool is_true(nb::handle object) {
  const int truth = PyObject_IsTrue(object.ptr());
  if (truth < 0) nb::raise_python_error();
  return truth != 0;
}

// Functions of users, which is_leaf, __lt__, __hash__ and flatten functions are, may change or drop
// any container while it is walked: whatever is looked at is held.
class Flattener {
 public:
  // What lies below `depth` levels of containers are leaves.
  Flattener(std::vector<nb::object>& leaves, nb::handle is_leaf, size_t depth = SIZE_MAX)
      : leaves_(leaves), is_leaf_(is_leaf), depth_(depth) {}

  // The caller holds a reference.
  TreeNode flatten(nb::handle object) {
    if (level_ == kMaxDepth) {
      PyErr_Format(PyExc_RecursionError, "a pytree is nested more than %zu levels deep", kMaxDepth);
      nb::raise_python_error();
    }
    const Recursion recursion(" while flattening a pytree");
    ++level_;
    struct Leave {
      ~Leave() { --level; }
      size_t& level;
    } leave{level_};
    if (is_leaf_.is_valid() && !is_leaf_.is_none() && is_true(is_leaf_(object))) {
      return leaf(object);
    }
    if (level_ > depth_) return leaf(object);
    PyObject* const raw = object.ptr();
    if (raw == Py_None) return finish({Kind::kNone, {}, {}, {}, 0});
    if (PyTuple_CheckExact(raw)) return sequence(Kind::kTuple, object);
    if (PyList_CheckExact(raw)) return sequence(Kind::kList, object);
    if (PyDict_CheckExact(raw)) return dict(object);
    nb::handle type = reinterpret_cast<PyObject*>(Py_TYPE(raw));
    if (registry().contains(type)) return custom(object, type);
    if (is_named_tuple(object)) {
      TreeNode node = sequence(Kind::kNamedTuple, object);
      node.type = nb::borrow(type);
      return node;
    }
    return leaf(object);
  }

 private:
  TreeNode leaf(nb::handle object) {
    leaves_.push_back(nb::borrow(object));
    return {};
  }
  static TreeNode finish(TreeNode node) {
    node.num_leaves = 0;
    for (const TreeNode& child : node.children) node.num_leaves += child.num_leaves;
    return node;
  }
  TreeNode sequence(Kind kind, nb::handle object) {
    TreeNode node{kind, {}, {}, {}, 0};
    add_children(object, node);
    return finish(std::move(node));
  }
  TreeNode dict(nb::handle object) {
    nb::list keys = sorted_keys(object);
    TreeNode node{Kind::kDict, {}, keys, {}, 0};
    for (size_t i = 0; i < nb::len(keys); ++i) {
      const nb::object key = keys[i];
      nb::object value = nb::borrow(PyDict_GetItemWithError(object.ptr(), key.ptr()));
      if (!value.is_valid()) {
        // As when a loop over a dict finds this.
        if (!PyErr_Occurred()) {
          PyErr_SetString(PyExc_RuntimeError, "dictionary keys changed during iteration");
        }
        nb::raise_python_error();
      }
      node.children.push_back(flatten(value));
    }
    return finish(std::move(node));
  }
  TreeNode custom(nb::handle object, nb::handle type) {
    nb::object parts = registry()[type][0](object);
    if (!PyTuple_Check(parts.ptr()) || nb::len(parts) != 2) {
      throw TypeError(
          fmt::format("the flatten function registered for {} must return a pair (children, "
                      "auxiliary data), got {}",
                      repr_of(type), repr_of(parts)));
    }
    TreeNode node{Kind::kCustom, nb::borrow(type), nb::object(parts[1]), {}, 0};
    add_children(nb::object(parts[0]), node);
    return finish(std::move(node));
  }
  void add_children(nb::handle iterable, TreeNode& node) {
    for_each_item(iterable, [&](const nb::object& child) {
      node.children.push_back(flatten(child));
      return true;
    });
  }

  std::vector<nb::object>& leaves_;
  nb::handle is_leaf_;
  size_t depth_;
  size_t level_ = 0;  // of what is being flattened; the top has 1
};

nb::object build(const TreeNode& node, std::span<const nb::object>& leaves) {
  if (node.is_leaf()) {
    nb::object leaf = leaves.front();
    leaves = leaves.subspan(1);
    return node.kind == Kind::kFloat0 ? from_float0_stand_in(std::move(leaf)) : leaf;
  }
  if (node.kind == Kind::kNone) return nb::none();
  if (node.kind == Kind::kList) {
    nb::list list;
    for (const TreeNode& child : node.children) list.append(build(child, leaves));
    return list;
  }
  if (node.kind == Kind::kDict) {
    nb::dict dict;
    size_t i = 0;
    for (nb::handle key : node.data) dict[key] = build(node.children[i++], leaves);
    return dict;
  }
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(node.children.size()));
  if (!tuple) nb::raise_python_error();
  nb::tuple children = nb::steal<nb::tuple>(tuple);
  for (size_t i = 0; i < node.children.size(); ++i) {
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i),
                     build(node.children[i], leaves).release().ptr());
  }
  if (node.kind == Kind::kTuple) return children;
  if (node.kind == Kind::kNamedTuple) return node.type(*children);
  return registry()[node.type][1](node.data, children);
}

std::string describe(const TreeNode& node) {
  const auto list = [&](std::string open, std::string close) {
    for (size_t i = 0; i < node.children.size(); ++i) {
      open += (i > 0 ? ", " : "") + describe(node.children[i]);
    }
    return open + close;
  };
  switch (node.kind) {
    case Kind::kLeaf:
      return "*";
    case Kind::kFloat0:
      return "float0";
    case Kind::kNone:
      return "None";
    case Kind::kTuple:
      return list("(", node.children.size() == 1 ? ",)" : ")");
    case Kind::kList:
      return list("[", "]");
    case Kind::kDict: {
      std::string text = "{";
      size_t i = 0;
      for (nb::handle key : node.data) {
        text += (i > 0 ? ", " : "") + repr_of(key) + ": " + describe(node.children[i]);
        ++i;
      }
      return text + "}";
    }
    default: {
      const std::string name = display(nb::str(nb::object(node.type.attr("__name__"))));
      std::string aux = node.kind == Kind::kCustom && !node.data.is_none()
                            ? fmt::format("[{}]", repr_of(node.data))
                            : "";
      return list(name + aux + "(", ")");
    }
  }
}

bool same(const TreeNode& a, const TreeNode& b) {
  if (a.num_leaves != b.num_leaves || !is_same_container(a, b)) return false;
  for (size_t i = 0; i < a.children.size(); ++i) {
    if (!same(a.children[i], b.children[i])) return false;
  }
  return true;
}

size_t hash_node(const TreeNode& node) {
  size_t hash = static_cast<size_t>(node.kind) * 31 + node.children.size();
  hash = hash * 1000003 + reinterpret_cast<uintptr_t>(node.type.ptr());
  for (const TreeNode& child : node.children) hash = hash * 1000003 + hash_node(child);
  return hash;
}

// ".x" for a child of a named tuple, whose class may have lost its fields since.
std::string field_path(const TreeNode& node, size_t child) {
  const nb::object fields = nb::getattr(node.type, "_fields", nb::none());
  if (!PyTuple_Check(fields.ptr()) || child >= nb::len(fields)) return fmt::format("[{}]", child);
  return fmt::format(".{}", display(nb::str(nb::object(fields[child]))));
}

// Appends the path to leaf number `leaf` below this node.
void append_path(const TreeNode& node, size_t leaf, std::string& path) {
  for (size_t i = 0; i < node.children.size(); ++i) {
    if (leaf >= node.children[i].num_leaves) {
      leaf -= node.children[i].num_leaves;
      continue;
    }
    if (node.kind == Kind::kDict) {
      path += fmt::format("[{}]", repr_of(nb::object(node.data[i])));
    } else if (node.kind == Kind::kNamedTuple) {
      path += field_path(node, i);
    } else {
      path += fmt::format("[{}]", i);
    }
    return append_path(node.children[i], leaf, path);
  }
}

// The parts of `tree` that stand where `node` has leaves.
void flatten_up_to(const TreeNode& node, nb::handle tree, std::vector<nb::object>& parts) {
  if (node.is_leaf()) {
    parts.push_back(nb::borrow(tree));
    return;
  }
  std::vector<nb::object> children;
  if (!is_same_container(node, flatten_one_level(tree, children)->root())) {
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("expected a pytree of structure {}, got {}", describe(node), repr_of(tree)));
  }
  for (size_t i = 0; i < node.children.size(); ++i) {
    flatten_up_to(node.children[i], children[i], parts);
  }
}

}  // namespace

nb::object TreeDef::unflatten(std::span<const nb::object> leaves) const {
  if (leaves.size() != num_leaves()) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{} has {} leaves, got {}", to_string(), num_leaves(), leaves.size()));
  }
  return build(root_, leaves);
}

std::string TreeDef::to_string() const { return "PyTreeDef(" + describe(root_) + ")"; }
size_t TreeDef::hash() const { return hash_node(root_); }
bool TreeDef::operator==(const TreeDef& other) const { return same(root_, other.root_); }

TreeDefPtr flatten_tree(nb::handle tree, std::vector<nb::object>& leaves, nb::handle is_leaf) {
  return std::make_shared<const TreeDef>(Flattener(leaves, is_leaf).flatten(tree));
}

TreeDefPtr flatten_one_level(nb::handle tree, std::vector<nb::object>& children) {
  return std::make_shared<const TreeDef>(Flattener(children, {}, 1).flatten(tree));
}

bool is_same_container(const TreeNode& a, const TreeNode& b) {
  return a.kind == b.kind && a.children.size() == b.children.size() &&
         a.type.ptr() == b.type.ptr() && (!a.data.is_valid() || a.data.equal(b.data));
}

std::string leaf_path(const TreeDef& tree, size_t leaf) {
  std::string path;
  append_path(tree.root(), leaf, path);
  return path;
}

void bind_tree(nb::module_& module) {
  nb::class_<TreeDef>(module, "PyTreeDef",
                      "The structure of a pytree: its containers, not its leaves.")
      .def_prop_ro("num_leaves", &TreeDef::num_leaves)
      .def("unflatten",
           [](const TreeDef& self, nb::object leaves) {
             std::vector<nb::object> all;
             for_each_item(leaves, [&](nb::object leaf) {
               if (all.size() == self.num_leaves()) {
                 throw Error(ErrorCode::kInvalidArgument,
                             fmt::format("{} has {} leaves, got more", self.to_string(),
                                         self.num_leaves()));
               }
               all.push_back(std::move(leaf));
               return true;
             });
             return self.unflatten(all);
           })
      .def(
          "flatten_up_to",
          [](const TreeDef& self, nb::object tree) {
            std::vector<nb::object> parts;
            flatten_up_to(self.root(), tree, parts);
            return parts;
          },
          nb::arg("tree").none())
      .def("children",
           [](const TreeDef& self) {
             std::vector<TreeDefPtr> children;
             for (const TreeNode& child : self.root().children) {
               children.push_back(std::make_shared<const TreeDef>(child));
             }
             return children;
           })
      .def(
          "__eq__",
          [](const TreeDef& self, nb::handle other) {
            return nb::isinstance<TreeDef>(other) && self == nb::cast<const TreeDef&>(other);
          },
          nb::arg("other").none())
      .def("__hash__", [](const TreeDef& self) { return static_cast<Py_hash_t>(self.hash() >> 1); })
      .def("__repr__", &TreeDef::to_string);

  module.def(
      "tree_flatten",
      [](nb::object tree, nb::object is_leaf) {
        std::vector<nb::object> leaves;
        TreeDefPtr structure = flatten_tree(tree, leaves, is_leaf);
        return nb::make_tuple(nb::cast(leaves),
                              nb::cast(std::const_pointer_cast<TreeDef>(structure)));
      },
      nb::arg("tree").none(), nb::arg("is_leaf").none() = nb::none());
  module.def(
      "register_pytree_node",
      [](nb::type_object type, nb::callable flatten, nb::callable unflatten) {
        if (registry().contains(type)) {
          throw Error(ErrorCode::kInvalidArgument,
                      fmt::format("{} is registered as a pytree already", repr_of(type)));
        }
        registry()[type] = nb::make_tuple(flatten, unflatten);
      },
      nb::arg("nodetype"), nb::arg("flatten_func"), nb::arg("unflatten_func"));
}

}  // namespace farcall::python
