#include "tangents.h"

#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/placement.h>
#include <farcall/trace/rules.h>

#include "array_object.h"
#include "convert.h"
#include "float0.h"

namespace farcall::python {
namespace {

std::string tangent_name(ShapeDtype type) {
  return has_tangent(type) ? type.strengthened().to_string()
                           : "float0" + shape_to_string(type.shape());
}

}  // namespace

nb::object tangent_object(const Array& tangent, ShapeDtype type) {
  if (!has_tangent(type)) return float0_zeros(type.shape());
  return wrap_object(instantiate(tangent, type));
}

nb::object symbolic_tangent_object(const Array& tangent, ShapeDtype type) {
  return tangent.is_null() ? nb::cast(SymbolicZero{type}) : wrap_object(tangent);
}

Array to_tangent(nb::handle object, ShapeDtype type, const std::string& what,
                 TangentErrors errors) {
  if (nb::isinstance<SymbolicZero>(object)) return {};
  const bool is_nothing = is_float0(object);
  if (is_nothing != !has_tangent(type)) {
    std::string text =
        fmt::format("{} must be {}, because its value is {}; got {}{}", what, tangent_name(type),
                    type.strengthened().to_string(), is_nothing ? "float0" : repr_of(object),
                    is_nothing ? ""
                               : ". Values that are neither floats nor complex numbers take "
                                 "numpy.zeros(shape, farcall.dtypes.float0)");
    if (errors != TangentErrors::kValue) throw TypeError(std::move(text));
    invalid_argument(std::move(text));
  }
  if (is_nothing) return {};
  return checked_tangent(to_array(object, what, {.keeps_64_bits = is_64_bit(type.dtype())}), type,
                         what, errors);
}

Array to_cotangent(nb::handle object, ShapeDtype type, const std::string& what,
                   TangentErrors errors) {
  return has_tangent(type) ? to_tangent(object, type, what, errors) : Array();
}

nb::object unflatten_tangents(const TreeDef& tree, std::span<const Array> tangents,
                              std::span<const ShapeDtype> types) {
  std::vector<nb::object> leaves;
  leaves.reserve(tangents.size());
  for (size_t i = 0; i < tangents.size(); ++i) {
    leaves.push_back(tangent_object(weak_like(tangents[i], types[i]), types[i]));
  }
  return unflatten(tree, leaves);
}

void bind_tangents(nb::module_& module) {
  module.attr("float0") = float0_dtype();
  nb::class_<SymbolicZero>(module, "SymbolicZero",
                           "A tangent or cotangent that is known to be zero, given to rules that "
                           "were defined with symbolic_zeros=True.")
      .def_prop_ro("shape", [](const SymbolicZero& self) { return to_tuple(self.type.shape()); })
      .def_prop_ro("dtype",
                   [](const SymbolicZero& self) {
                     return has_tangent(self.type) ? numpy_dtype(self.type.dtype())
                                                   : float0_dtype();
                   })
      .def_prop_ro("ndim", [](const SymbolicZero& self) { return self.type.rank(); })
      .def_prop_ro("size", [](const SymbolicZero& self) { return self.type.size(); })
      .def_prop_ro("aval", [](const SymbolicZero& self) { return self.type; })
      .def("__repr__", [](const SymbolicZero& self) {
        return fmt::format("SymbolicZero({})", tangent_name(self.type));
      });
  module.def(
      "zero_from_primal",
      [](nb::handle value, bool symbolic_zeros) {
        const ShapeDtype type = to_array(value, "zero_from_primal: val").type();
        return symbolic_zeros ? symbolic_tangent_object({}, type) : tangent_object({}, type);
      },
      nb::arg("val"), nb::arg("symbolic_zeros") = false);
}

}  // namespace farcall::python
