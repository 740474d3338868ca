// ShapeDtypeStruct: the type of an array as a Python value.
#include <farcall/core/error.h>
#include <fmt/format.h>

#include "bind.h"
#include "convert.h"

namespace farcall::python {
namespace {

ShapeDtype make(nb::handle shape, nb::handle dtype, bool weak_type) {
  if (dtype.is_none()) {
    invalid_argument("ShapeDtypeStruct: dtype must be given");
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

// The attribute of a ShapeDtypeStruct with a sharding: a Sharding, or a PartitionSpec, which the
// property `sharding` applies to the current mesh.
constexpr const char* kSharding = "_sharding";

bool is_placed(nb::handle self) { return nb::hasattr(self, kSharding); }

void place(nb::handle self, nb::handle sharding) {
  if (sharding.is_none()) return;
  const nb::object declared = nb::module_::import_("farcall._sharding").attr("declared_sharding");
  nb::setattr(self, kSharding, declared(sharding, self.attr("shape")));
}

bool is_equal(nb::handle self, nb::handle other) {
  if (!nb::isinstance<ShapeDtype>(other) ||
      nb::cast<const ShapeDtype&>(self) != nb::cast<const ShapeDtype&>(other)) {
    return false;
  }
  if (!is_placed(self) && !is_placed(other)) return true;
  return self.attr("sharding").equal(other.attr("sharding"));
}

size_t hash_of(nb::handle self) {
  const size_t hash = nb::cast<const ShapeDtype&>(self).hash();
  if (!is_placed(self)) return hash;
  return hash * 31 + static_cast<size_t>(nb::hash(self.attr("sharding")));
}

std::string describe(nb::handle self) {
  const auto& type = nb::cast<const ShapeDtype&>(self);
  const std::string sharding =
      is_placed(self) ? fmt::format(", sharding={}", repr_of(self.attr(kSharding))) : "";
  return fmt::format("ShapeDtypeStruct(shape={}, dtype={}{}{})", repr_of(to_tuple(type.shape())),
                     dtype_name(type.dtype()), sharding,
                     type.weak_type() ? ", weak_type=True" : "");
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
                         "  sharding: a Sharding, a Device, or a PartitionSpec of the mesh that is "
                         "current when it is used; None if it is not given. ``jit(f).lower(…)`` "
                         "compiles for arguments with this sharding.\n"
                         "  manual_axis_type, is_ref: for programs written for JAX; without "
                         "effect.\n\n"
                         "Raises:\n"
                         "  TypeError: for a dtype that farcall does not have, and for a sharding "
                         "of another type.\n"
                         "  ValueError: without a dtype, for a negative size, and for a sharding "
                         "that does not fit the shape.",
                         nb::dynamic_attr())
      .def(
          "__init__",
          [](nb::pointer_and_handle<ShapeDtype> self, nb::handle shape, nb::handle dtype,
             nb::handle sharding, bool weak_type, nb::handle /*manual_axis_type*/,
             bool /*is_ref*/) {
            new (self.p) ShapeDtype(make(shape, dtype, weak_type));
            nb::inst_mark_ready(self.h);
            place(self.h, sharding);
          },
          nb::arg("shape"), nb::arg("dtype").none(), nb::kw_only(),
          nb::arg("sharding").none() = nb::none(), nb::arg("weak_type") = false,
          nb::arg("manual_axis_type").none() = nb::none(), nb::arg("is_ref") = false)
      .def_prop_ro("shape", [](const ShapeDtype& self) { return to_tuple(self.shape()); })
      .def_prop_ro("dtype", dtype_of)
      .def_prop_ro("weak_type", &ShapeDtype::weak_type)
      .def_prop_ro("ndim", &ShapeDtype::rank)
      .def_prop_ro("size", &ShapeDtype::size)
      .def("__eq__", is_equal, nb::arg("other").none())
      .def("__hash__", hash_of)
      .def("__repr__", describe)
      .def("__getstate__",
           [](nb::handle self) {
             const auto& type = nb::cast<const ShapeDtype&>(self);
             return nb::make_tuple(to_tuple(type.shape()), dtype_of(type), type.weak_type(),
                                   nb::getattr(self, kSharding, nb::none()));
           })
      .def("__setstate__", [](nb::pointer_and_handle<ShapeDtype> self, nb::tuple state) {
        new (self.p) ShapeDtype(make(state[0], state[1], nb::cast<bool>(state[2])));
        nb::inst_mark_ready(self.h);
        place(self.h, state[3]);
      });
}

}  // namespace farcall::python
