// Conversions that the Python side of Array needs.
#include "bind.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <farcall/core/error.h>
#include <farcall/ops/promotion.h>

#include "array_object.h"
#include "convert.h"

namespace farcall::python {

void bind_arrays(nb::module_& module) {
  module.def(
      "from_dlpack",
      [](nb::handle object, std::optional<bool> copy) {
        return wrap_object(from_dlpack(object, copy));
      },
      nb::arg("x"), nb::arg("copy").none() = nb::none());
  module.def("as_array", [](nb::handle object) { return wrap_object(to_array(object, "value")); });
  module.def("promoted_dtype", [](const std::vector<ShapeDtype>& types) {
    return numpy_dtype(promote_types(types).dtype);
  });
  // For unpickling: the same values, weakly typed or not.
  module.def("with_weak_type", [](nb::handle object, bool weak_type) {
    const Array array = to_array(object, "with_weak_type: array");
    return wrap_object(Array(ShapeDtype(array.dtype(), array.shape(), weak_type), array.storage()));
  });
}

}  // namespace farcall::python
