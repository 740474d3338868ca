// ShapeDtypeStruct: the type of an array as a Python value.
#include <farcall/core/error.h>
#include <fmt/format.h>

#include "bind.h"
#include "convert.h"

namespace farcall::python {
namespace {

ShapeDtype make(nb::handle shape, nb::handle dtype, bool weak_type) {
  if (dtype.is_none()) {
    throw Error(ErrorCode::kInvalidArgument, "ShapeDtypeStruct: dtype must be given");
  }
  if (PyUnicode_Check(dtype.ptr()) && PyUnicode_CompareWithASCIIString(dtype.ptr(), "token") == 0) {
    return ShapeDtype(DType::kToken, to_sizes(shape, "ShapeDtypeStruct: shape"));
  }
  return ShapeDtype(to_declared_dtype(dtype), to_sizes(shape, "ShapeDtypeStruct: shape"),
                    weak_type);
}

nb::object dtype_of(const ShapeDtype& type) {
  return type.is_token() ? nb::object(nb::str("token")) : dtype_object(type.dtype());
}

std::string describe(const ShapeDtype& type) {
  return fmt::format("ShapeDtypeStruct(shape={}, dtype={}{})", repr_of(to_tuple(type.shape())),
                     dtype_name(type.dtype()), type.weak_type() ? ", weak_type=True" : "");
}

}  // namespace

void bind_shape_dtype(nb::module_& module) {
  nb::class_<ShapeDtype>(module, "ShapeDtypeStruct",
                         "The shape and dtype of an array, without values.\n\n"
                         "Args:\n"
                         "  shape: an integer or a sequence of them.\n"
                         "  dtype: what ``numpy.dtype`` accepts, ``farcall.dtypes`` included, or "
                         "``\"token\"``.\n"
                         "  weak_type: whether promotion prefers the dtypes of other operands.\n"
                         "  sharding, manual_axis_type, is_ref: for programs written for JAX; "
                         "without effect.\n\n"
                         "Raises:\n"
                         "  TypeError: for a dtype that farcall does not have.\n"
                         "  ValueError: without a dtype, or for a negative size.")
      .def(
          "__init__",
          [](ShapeDtype* self, nb::handle shape, nb::handle dtype, nb::handle /*sharding*/,
             bool weak_type, nb::handle /*manual_axis_type*/,
             bool /*is_ref*/) { new (self) ShapeDtype(make(shape, dtype, weak_type)); },
          nb::arg("shape"), nb::arg("dtype").none(), nb::kw_only(),
          nb::arg("sharding").none() = nb::none(), nb::arg("weak_type") = false,
          nb::arg("manual_axis_type").none() = nb::none(), nb::arg("is_ref") = false)
      .def_prop_ro("shape", [](const ShapeDtype& self) { return to_tuple(self.shape()); })
      .def_prop_ro("dtype", dtype_of)
      .def_prop_ro("weak_type", &ShapeDtype::weak_type)
      .def_prop_ro("ndim", &ShapeDtype::rank)
      .def_prop_ro("size", &ShapeDtype::size)
      .def(
          "__eq__",
          [](const ShapeDtype& self, nb::handle other) {
            return nb::isinstance<ShapeDtype>(other) && self == nb::cast<const ShapeDtype&>(other);
          },
          nb::arg("other").none())
      .def("__hash__", &ShapeDtype::hash)
      .def("__repr__", describe)
      .def("__getstate__",
           [](const ShapeDtype& self) {
             return nb::make_tuple(to_tuple(self.shape()), dtype_of(self), self.weak_type());
           })
      .def("__setstate__", [](ShapeDtype& self, nb::tuple state) {
        new (&self) ShapeDtype(make(state[0], state[1], nb::cast<bool>(state[2])));
      });
}

}  // namespace farcall::python
