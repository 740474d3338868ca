// farcall.numpy: ranges.
#include "bind.h"

#include <optional>

#include <farcall/ops/numpy.h>

#include "bound_function.h"

namespace farcall::python {
void bind_numpy_ranges(nb::module_& module) {
  const Parameter num = {"num", 50}, endpoint = {"endpoint", true}, dtype = {"dtype", nb::none()},
                  axis = {"axis", 0};
  def_function<1>(
      module, "linspace",
      [](const ListedArray& start, const ListedArray& stop, int64_t num, bool endpoint,
         bool retstep, std::optional<DType> dtype, int64_t axis, nb::handle device) -> nb::object {
        const nb::object values =
            to_python(numpy::linspace(start, stop, num, endpoint, dtype, axis), device);
        if (!retstep) return values;
        const Array step = numpy::linspace_step(start, stop, num, endpoint, dtype);
        return nb::make_tuple(values, to_python(step));
      },
      {"start", "stop", num, endpoint, {"retstep", false}, dtype, axis, {"device", nb::none()}});
  def_function(module, "logspace",
               [](const ListedArray& start, const ListedArray& stop, int64_t num, bool endpoint,
                  const ListedArray& base, std::optional<DType> dtype, int64_t axis) {
                 return numpy::logspace(start, stop, num, endpoint, base, dtype, axis);
               },
               {"start", "stop", num, endpoint, {"base", 10.0}, dtype, axis});
  def_function(module, "geomspace",
               [](const ListedArray& start, const ListedArray& stop, int64_t num, bool endpoint,
                  std::optional<DType> dtype, int64_t axis) {
                 return numpy::geomspace(start, stop, num, endpoint, dtype, axis);
               },
               {"start", "stop", num, endpoint, dtype, axis});
}

}  // namespace farcall::python
