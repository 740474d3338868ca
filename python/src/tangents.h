// Tangents and cotangents in Python: arrays of the dtype of their value. For values that are
// neither floats nor complex numbers they are numpy arrays of dtype float0, which have no data.
#pragma once

#include <nanobind/nanobind.h>

#include <span>
#include <string>
#include <vector>

#include <farcall/trace/array.h>
#include <farcall/trace/differentiate.h>

#include "tree.h"

namespace farcall::python {

namespace nb = nanobind;

// The object that stands for a zero tangent in rules that request symbolic zeros.
struct SymbolicZero {
  ShapeDtype type;  // of the value
};

// The object for a tangent of a value of this type; a null array means zero.
nb::object tangent_object(const Array& tangent, ShapeDtype type);
nb::object symbolic_tangent_object(const Array& tangent, ShapeDtype type);

// Converts a tangent from Python; null for float0 and for symbolic zeros. `what` names it in
// errors.
Array to_tangent(nb::handle object, ShapeDtype type, const std::string& what, TangentErrors errors);
// The same for a cotangent. If the value has no tangent, the object is ignored.
Array to_cotangent(nb::handle object, ShapeDtype type, const std::string& what,
                   TangentErrors errors = TangentErrors::kValue);

// Unflattens tangents of values of these types; those of weakly typed values are weakly typed.
nb::object unflatten_tangents(const TreeDef& tree, std::span<const Array> tangents,
                              std::span<const ShapeDtype> types);

void bind_tangents(nb::module_& module);

}  // namespace farcall::python
