#include "tree.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>

#include "float0.h"
#include "interpreter_lock.h"
#include "iterate.h"
#include "recursion.h"
#include "text.h"

namespace farcall::python {
namespace {

using Kind = TreeDef::Kind;

// The classes registered by users, with their two functions; lives until the process ends.
nb::dict& registry() {
  static auto* classes = new nb::dict;
  return *classes;
}

bool registry_is_empty() { return PyDict_GET_SIZE(registry().ptr()) == 0; }

// A container for which TreeDef has no kind, or the mark of a float0 leaf.
class PythonNode : public TreeNodeData {
 public:
  enum class Form : uint8_t { kDict, kNamedTuple, kCustom, kFloat0 };

  PythonNode(Form form, nb::object type, nb::object data)
      : form(form), type(std::move(type)), data(std::move(data)) {}

  bool equals(const TreeNodeData& other) const override {
    const auto& node = static_cast<const PythonNode&>(other);
    return form == node.form && type.ptr() == node.type.ptr() &&
           (!data.is_valid() || data.equal(node.data));
  }
  size_t hash() const override {
    return static_cast<size_t>(form) + reinterpret_cast<uintptr_t>(type.ptr());
  }
  std::string child_path(size_t i) const override {
    if (form == Form::kDict) return fmt::format("[{}]", repr_of(nb::object(data[i])));
    if (form != Form::kNamedTuple) return TreeNodeData::child_path(i);
    // The class may have lost its fields meanwhile.
    const nb::object fields = nb::getattr(type, "_fields", nb::none());
    const bool has_name = PyTuple_Check(fields.ptr()) && i < nb::len(fields);
    return has_name ? fmt::format(".{}", display(nb::str(nb::object(fields[i]))))
                    : TreeNodeData::child_path(i);
  }
  std::string to_string(std::span<const std::string> children) const override {
    if (form == Form::kFloat0) return "float0";
    if (form == Form::kDict) {
      std::vector<std::string> items;
      for (nb::handle key : data) {
        items.push_back(fmt::format("{}: {}", repr_of(key), children[items.size()]));
      }
      return fmt::format("{{{}}}", fmt::join(items, ", "));
    }
    const bool has_data = form == Form::kCustom && !data.is_none();
    return fmt::format("{}{}({})", display(nb::str(nb::object(type.attr("__name__")))),
                       has_data ? fmt::format("[{}]", repr_of(data)) : "",
                       fmt::join(children, ", "));
  }

  const Form form;
  const nb::object type;  // kNamedTuple, kCustom: the class
  const nb::object data;  // kDict: the list of keys. kCustom: the auxiliary data
};
using Form = PythonNode::Form;

TreeNodeDataPtr make_data(Form form, nb::object type, nb::object data) {
  return share(PythonNode(form, std::move(type), std::move(data)));
}

const TreeDef& empty_dict() {
  static const auto* tree = new TreeDef(Kind::kNode, {}, make_data(Form::kDict, {}, nb::list()));
  return *tree;
}

const PythonNode* python_node(const TreeDef& node) {
  return static_cast<const PythonNode*>(node.data());
}

bool is_named_tuple_object(nb::handle object) {
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

// Deeper trees might overflow the stack of another thread.
constexpr size_t kMaxDepth = 5000;

// The truth value of a function's result, as in Python's `if`: also of None, numpy's bools and
// numbers.
bool is_true(nb::handle object) {
  const int truth = PyObject_IsTrue(object.ptr());
  if (truth < 0) nb::raise_python_error();
  return truth != 0;
}

// User functions (is_leaf, __lt__, __hash__, flatten functions) may change or release any container
// during the walk, so the walk holds references to everything that it looks at.
class Flattener {
 public:
  // Objects below `depth` levels of containers are leaves.
  Flattener(std::vector<nb::object>& leaves, nb::handle is_leaf, size_t depth = SIZE_MAX)
      : leaves_(leaves), is_leaf_(is_leaf), depth_(depth) {}

  // The caller holds a reference to `object`.
  TreeDef flatten(nb::handle object) {
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
    if (raw == Py_None) return TreeDef(Kind::kNone);
    if (PyTuple_CheckExact(raw)) return TreeDef(Kind::kTuple, children_of(object));
    if (PyList_CheckExact(raw)) return TreeDef(Kind::kList, children_of(object));
    if (PyDict_CheckExact(raw)) return dict(object);
    nb::handle type = reinterpret_cast<PyObject*>(Py_TYPE(raw));
    if (!registry_is_empty() && registry().contains(type)) return custom(object, type);
    if (is_named_tuple_object(object)) {
      return node(object, make_data(Form::kNamedTuple, nb::borrow(type), {}));
    }
    return leaf(object);
  }

 private:
  TreeDef leaf(nb::handle object) {
    leaves_.push_back(nb::borrow(object));
    return {};
  }
  TreeDef dict(nb::handle object) {
    if (PyDict_GET_SIZE(object.ptr()) == 0) return empty_dict();  // of most calls: the keywords
    nb::list keys = sorted_keys(object);
    std::vector<TreeDef> children;
    for (size_t i = 0; i < nb::len(keys); ++i) {
      const nb::object key = keys[i];
      nb::object value = nb::borrow(PyDict_GetItemWithError(object.ptr(), key.ptr()));
      if (!value.is_valid()) {
        // The error of a Python loop over a dict that changes.
        if (!PyErr_Occurred()) {
          PyErr_SetString(PyExc_RuntimeError, "dictionary keys changed during iteration");
        }
        nb::raise_python_error();
      }
      children.push_back(flatten(value));
    }
    return TreeDef(Kind::kNode, std::move(children), make_data(Form::kDict, {}, std::move(keys)));
  }
  TreeDef custom(nb::handle object, nb::handle type) {
    nb::object parts = registry()[type][0](object);
    if (!PyTuple_Check(parts.ptr()) || nb::len(parts) != 2) {
      throw TypeError(
          fmt::format("the flatten function registered for {} must return a pair (children, "
                      "auxiliary data), got {}",
                      repr_of(type), repr_of(parts)));
    }
    return node(nb::object(parts[0]),
                make_data(Form::kCustom, nb::borrow(type), nb::object(parts[1])));
  }
  TreeDef node(nb::handle children, TreeNodeDataPtr data) {
    return TreeDef(Kind::kNode, children_of(children), std::move(data));
  }
  std::vector<TreeDef> children_of(nb::handle iterable) {
    std::vector<TreeDef> children;
    for_each_item(iterable, [&](const nb::object& child) {
      children.push_back(flatten(child));
      return true;
    });
    return children;
  }

  std::vector<nb::object>& leaves_;
  nb::handle is_leaf_;
  size_t depth_;
  size_t level_ = 0;  // of the current object; the root has 1
};

nb::object build(const TreeDef& node, std::span<const nb::object>& leaves) {
  if (node.is_leaf()) {
    nb::object leaf = leaves.front();
    leaves = leaves.subspan(1);
    return node.data() ? from_float0_stand_in(std::move(leaf)) : leaf;
  }
  if (node.kind() == Kind::kNone) return nb::none();
  const std::span<const TreeDef> parts = node.children();
  if (node.kind() == Kind::kList) {
    nb::list list;
    for (const TreeDef& part : parts) list.append(build(part, leaves));
    return list;
  }
  const PythonNode* const own = python_node(node);
  if (own && own->form == Form::kDict) {
    nb::dict dict;
    size_t i = 0;
    for (nb::handle key : own->data) dict[key] = build(parts[i++], leaves);
    return dict;
  }
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(parts.size()));
  if (!tuple) nb::raise_python_error();
  nb::tuple children = nb::steal<nb::tuple>(tuple);
  for (size_t i = 0; i < parts.size(); ++i) {
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), build(parts[i], leaves).release().ptr());
  }
  if (!own) return children;
  if (own->form == Form::kNamedTuple) return own->type(*children);
  return registry()[own->type][1](own->data, children);
}

TreeDef marked(const TreeDef& node, std::span<const bool>& is_float0) {
  if (node.is_leaf()) {
    static const TreeNodeDataPtr mark = make_data(Form::kFloat0, {}, {});
    const bool is_marked = is_float0.front();
    is_float0 = is_float0.subspan(1);
    return is_marked ? TreeDef(Kind::kLeaf, {}, mark) : node;
  }
  std::vector<TreeDef> children;
  for (const TreeDef& child : node.children()) children.push_back(marked(child, is_float0));
  return node.with_children(std::move(children));
}

// The subtrees of `tree` at the leaves of `node`.
void flatten_up_to(const TreeDef& node, nb::handle tree, std::vector<nb::object>& parts) {
  if (node.is_leaf()) {
    parts.push_back(nb::borrow(tree));
    return;
  }
  std::vector<nb::object> children;
  if (!node.has_root_of(flatten_one_level(tree, children))) {
    std::vector<nb::object> leaves;
    const TreeDef given = flatten_tree(tree, leaves);
    invalid_argument(fmt::format(
        "expected a pytree of structure {}, got {}", node.to_string(),
        given.is_leaf() ? fmt::format("a value of type {}", Py_TYPE(tree.ptr())->tp_name)
                        : "one of structure " + given.to_string()));
  }
  for (size_t i = 0; i < children.size(); ++i) {
    flatten_up_to(node.children()[i], children[i], parts);
  }
}

}  // namespace

TreeDef flatten_tree(nb::handle tree, std::vector<nb::object>& leaves, nb::handle is_leaf) {
  return Flattener(leaves, is_leaf).flatten(tree);
}

TreeDef flatten_one_level(nb::handle tree, std::vector<nb::object>& children) {
  return Flattener(children, {}, 1).flatten(tree);
}

nb::object unflatten(const TreeDef& tree, std::span<const nb::object> leaves) {
  if (leaves.size() != tree.num_leaves()) {
    invalid_argument(
        fmt::format("{} has {} leaves, got {}", text_of(tree), tree.num_leaves(), leaves.size()));
  }
  return build(tree, leaves);
}

nb::list keys_of(const TreeDef& dict) { return nb::borrow<nb::list>(python_node(dict)->data); }

bool is_dict(const TreeDef& node) {
  return node.kind() == Kind::kNode && python_node(node)->form == Form::kDict;
}

bool is_named_tuple(const TreeDef& node) {
  return node.kind() == Kind::kNode && python_node(node)->form == Form::kNamedTuple;
}

nb::object class_of(const TreeDef& named_tuple) { return python_node(named_tuple)->type; }

TreeDef with_float0(const TreeDef& tree, std::span<const bool> is_float0) {
  return marked(tree, is_float0);
}

std::string text_of(const TreeDef& tree) { return fmt::format("PyTreeDef({})", tree.to_string()); }

// Containers, Nones and leaves.
size_t num_nodes(const TreeDef& tree) {
  size_t count = 1;
  for (const TreeDef& child : tree.children()) count += num_nodes(child);
  return count;
}

void bind_tree(nb::module_& module) {
  nb::class_<TreeDef>(module, "PyTreeDef",
                      "The structure of a pytree: its containers, not its leaves.")
      .def_prop_ro("num_leaves", &TreeDef::num_leaves)
      .def_prop_ro("num_nodes", num_nodes)
      .def("unflatten",
           [](const TreeDef& self, nb::object leaves) {
             std::vector<nb::object> all;
             for_each_item(leaves, [&](nb::object leaf) {
               if (all.size() == self.num_leaves()) {
                 invalid_argument(
                     fmt::format("{} has {} leaves, got more", text_of(self), self.num_leaves()));
               }
               all.push_back(std::move(leaf));
               return true;
             });
             return unflatten(self, all);
           })
      .def(
          "flatten_up_to",
          [](const TreeDef& self, nb::object tree) {
            std::vector<nb::object> parts;
            flatten_up_to(self, tree, parts);
            return parts;
          },
          nb::arg("tree").none())
      .def("children",
           [](const TreeDef& self) {
             return std::vector<TreeDef>(self.children().begin(), self.children().end());
           })
      .def(
          "__eq__",
          [](const TreeDef& self, nb::handle other) {
            return nb::isinstance<TreeDef>(other) && self == nb::cast<const TreeDef&>(other);
          },
          nb::arg("other").none())
      .def("__hash__", [](const TreeDef& self) { return static_cast<Py_hash_t>(self.hash() >> 1); })
      .def("__repr__", text_of);

  module.def(
      "tree_flatten",
      [](nb::object tree, nb::object is_leaf) {
        std::vector<nb::object> leaves;
        TreeDef structure = flatten_tree(tree, leaves, is_leaf);
        return nb::make_tuple(nb::cast(leaves), nb::cast(std::move(structure)));
      },
      nb::arg("tree").none(), nb::arg("is_leaf").none() = nb::none());
  module.def(
      "tree_flatten_one_level",
      [](nb::object tree) {
        std::vector<nb::object> children;
        const TreeDef node = flatten_one_level(tree, children);
        if (node.kind() == Kind::kLeaf) {
          invalid_argument(
              fmt::format("flatten_one_level: tree must be a container, got {}", repr_of(tree)));
        }
        nb::object data = nb::none();
        if (node.kind() == Kind::kNode) {
          const PythonNode& python = *python_node(node);
          data = python.form == Form::kDict         ? nb::object(nb::tuple(python.data))
                 : python.form == Form::kNamedTuple ? python.type
                                                    : python.data;
        }
        return nb::make_tuple(nb::cast(children), data);
      },
      nb::arg("tree").none());
  module.def(
      "register_pytree_node",
      [](nb::type_object type, nb::callable flatten, nb::callable unflatten) {
        if (registry().contains(type)) {
          invalid_argument(fmt::format("{} is registered as a pytree already", repr_of(type)));
        }
        registry()[type] = nb::make_tuple(flatten, unflatten);
      },
      nb::arg("nodetype"), nb::arg("flatten_func"), nb::arg("unflatten_func"));
}

}  // namespace farcall::python
