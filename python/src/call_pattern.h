// The form of a call that was made before, so that one like it is recognised without its trees
// being built: a walk over the arguments beside a list of what each must be.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <farcall/core/shape_dtype.h>
#include <farcall/core/storage.h>

#include "traced_function.h"

namespace farcall::python {

class CallPattern {
 public:
  static constexpr size_t kMaxLeaves = 64;

  // Nothing for calls that cannot be recognised in this way: with leaves that are no arrays in
  // memory, containers that need Python code to be taken apart, keys or static arguments that need
  // it to be compared.
  static std::optional<CallPattern> of(const CallArguments& arguments, PyObject* kwnames);

  // The arrays of a call, which its containers hold.
  struct Leaves {
    PyObject* objects[kMaxLeaves];
    const Storage* storages[kMaxLeaves];
  };
  // Whether a call has this form, whose leaves are in the first num_leaves() places then. Runs no
  // code of users.
  bool matches(PyObject* const* args, size_t nargs, PyObject* kwnames, Leaves& leaves) const;
  size_t num_leaves() const { return num_leaves_; }

 private:
  enum class Kind : uint8_t { kArray, kNone, kTuple, kList, kNamedTuple, kDict, kStatic };
  struct Step {
    Kind kind;
    size_t size = 0;         // of a container
    ShapeDtype type = {};    // kArray
    nb::object object = {};  // kNamedTuple: the class. kDict: the keys. kStatic: the value
  };
  struct Walk;

  bool add(const TreeDef& node, std::span<const nb::object>& leaves);
  void add_static(nb::object value);

  size_t nargs_ = 0;
  nb::object kwnames_;                 // a tuple; null without keywords
  std::vector<size_t> keyword_order_;  // of the keywords as called, in that of the steps
  std::vector<Step> steps_;            // in preorder: positional arguments, then keywords
  size_t num_leaves_ = 0;
};

}  // namespace farcall::python
