// Tangents and cotangents as Python has them: arrays of the dtype of the value that they belong to.
// Values that are neither floats nor complex numbers have numpy arrays of dtype float0, which hold
// nothing.
#pragma once

#include <nanobind/nanobind.h>

#include <span>
#include <string>
#include <vector>

#include <farcall/trace/array.h>

#include "tree.h"

namespace farcall::python {

namespace nb = nanobind;

// What rules get in place of a tangent that is zero, where they ask for it.
struct SymbolicZero {
  ShapeDtype type;  // of the value
};

// The object for a tangent, null being zero, of a value of this type.
nb::object tangent_object(const Array& tangent, ShapeDtype type);
nb::object symbolic_tangent_object(const Array& tangent, ShapeDtype type);

// Which errors a tangent of another dtype or shape raises, as in JAX: ValueError, TypeError, or
// TypeError for dtypes alone.
enum class TangentErrors : uint8_t { kValue, kType, kTypeForDtype };

// The array of a tangent that Python gave, null where it is float0 or a symbolic zero. `what` names
// it in errors.
Array to_tangent(nb::handle object, ShapeDtype type, const std::string& what, TangentErrors errors);
// The same for a cotangent; what is given for a value that has none does not matter.
Array to_cotangent(nb::handle object, ShapeDtype type, const std::string& what,
                   TangentErrors errors = TangentErrors::kValue);

// The object of a structure with these tangents of values of these types, weakly typed where these
// are.
nb::object unflatten_tangents(const TreeDef& tree, std::span<const Array> tangents,
                              std::span<const ShapeDtype> types);

void bind_tangents(nb::module_& module);

}  // namespace farcall::python
