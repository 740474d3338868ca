// The keyword arguments of earlier calls of a foreign function, with the attributes made of them.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include <farcall/ffi/attribute.h>

namespace farcall::python {

namespace nb = nanobind;

// A warm call finds its attributes here without building strings. Only calls whose values are all
// immutable and comparable without user code are kept: exactly bool, int, float, a short str, or
// numpy's numbers. Two values are the same if they have the same type and bits: True, 1 and 1.0
// differ, and so do 0.0 and -0.0. Requires the GIL, and holds no object that can be in a cycle.
class KnownAttributes {
 public:
  // Of the keyword arguments of a vectorcall. Raises as to_attribute does.
  std::shared_ptr<const Attributes> find_or_make(PyObject* const* values, PyObject* kwnames);

 private:
  struct Call {
    std::vector<nb::object> names, values;
    std::shared_ptr<const Attributes> attributes;

    bool is_of(PyObject* const* given, PyObject* kwnames) const;
  };

  static constexpr size_t kMaxCalls = 8;

  std::array<Call, kMaxCalls> calls_;
  size_t next_ = 0;  // the one to replace
};

}  // namespace farcall::python
