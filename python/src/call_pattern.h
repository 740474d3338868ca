// The pattern of an earlier call. It recognizes similar calls without building their trees, by
// walking over the arguments alongside a list of what each must be.
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

  // `types` are those of the leaves. Empty for calls that cannot be recognized this way: with
  // leaves other than concrete arrays in memory, numpy's arrays and scalars, and Python numbers, or
  // with containers, keys or static arguments that need user code to unpack or compare.
  static std::optional<CallPattern> of(const CallArguments& arguments,
                                       std::span<const ShapeDtype> types, PyObject* kwnames);

  // The leaves of a call; the call's containers own the objects.
  struct Leaves {
    PyObject* objects[kMaxLeaves];
    const Storage* storages[kMaxLeaves];  // null for what is not an array of farcall
  };
  // True if a call has this pattern; its leaves are then in the first num_leaves() entries. Runs no
  // user code.
  bool matches(PyObject* const* args, size_t nargs, PyObject* kwnames, Leaves& leaves) const;
  size_t num_leaves() const { return num_leaves_; }

 private:
  enum class Kind : uint8_t { kArray, kNone, kTuple, kList, kNamedTuple, kDict, kStatic };
  struct Step {
    Kind kind;
    size_t size = 0;         // of a container
    ShapeDtype type = {};    // kArray; of numpy's data and numbers, after conversion
    nb::object object = {};  // kNamedTuple: the class. kDict: the keys. kStatic: the value
  };
  struct Walk;

  bool add(const TreeDef& node, std::span<const nb::object>& leaves,
           std::span<const ShapeDtype>& types);
  void add_static(nb::object value);

  size_t nargs_ = 0;
  nb::object kwnames_;                 // a tuple; null without keywords
  std::vector<size_t> keyword_order_;  // for each step, the index of the keyword in the call
  std::vector<Step> steps_;            // in preorder: positional arguments, then keywords
  size_t num_leaves_ = 0;
};

// Holds the leaves of a call and converts those that are not arrays. The call's containers may
// change meanwhile.
class HeldLeaves {
 public:
  // With `shares_memory`, numpy's memory may be read in place. Raises what try_to_array() raises.
  HeldLeaves(CallPattern::Leaves& leaves, size_t count, bool shares_memory);
  std::span<const Storage* const> storages() const { return {leaves_.storages, count_}; }

 private:
  // A member, so that they are released if the conversion raises.
  struct References {
    explicit References(std::span<PyObject* const> objects);
    ~References();
    References(const References&) = delete;
    References& operator=(const References&) = delete;
    std::span<PyObject* const> objects;
  };

  CallPattern::Leaves& leaves_;
  size_t count_;
  References references_;
  std::vector<Array> made_;
};

}  // namespace farcall::python
