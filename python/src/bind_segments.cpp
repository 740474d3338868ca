// farcall.ops and farcall.flatten_util: segment reductions, trees as vectors.
#include "bind.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "numpy_api.h"

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/optimization_barrier.h>
#include <farcall/ops/ravel.h>
#include <farcall/ops/segments.h>
#include <farcall/trace/placement.h>

#include "array_object.h"
#include "convert.h"
#include "memory_in_use.h"

namespace farcall::python {
namespace {

nb::list to_list(std::span<const Array> arrays) {
  nb::list list;
  for (const Array& array : arrays) list.append(wrap_object(array));
  return list;
}

void bind_segment_reductions(nb::module_& module) {
  using Reduction = Array (*)(const Array&, const Array&, const ops::SegmentOptions&);
  const std::pair<const char*, Reduction> reductions[] = {{"segment_sum", ops::segment_sum},
                                                          {"segment_prod", ops::segment_prod},
                                                          {"segment_max", ops::segment_max},
                                                          {"segment_min", ops::segment_min}};
  for (const auto& [name, function] : reductions) {
    module.def(name, [name = std::string(name), function = function](
                         nb::handle data, nb::handle ids, std::optional<int64_t> num_segments,
                         bool is_sorted, bool is_unique, std::optional<int64_t> bucket_size,
                         const std::optional<std::string>& mode) {
      ops::SegmentOptions options{num_segments, is_sorted, is_unique, bucket_size};
      if (mode) options.mode = parse_mode(*mode);
      return wrap_object(function(to_array(data, name + ": argument data"),
                                  to_array(ids, name + ": argument segment_ids"), options));
    });
  }
}

}  // namespace

void bind_segments(nb::module_& module) {
  bind_segment_reductions(module);
  module.def("ravel_arrays", [](nb::sequence arrays) {
    return wrap_object(ravel_arrays(to_arrays(arrays, "ravel_pytree: leaves")));
  });
  module.def("unravel_array", [](nb::handle vector, const std::vector<ShapeDtype>& types,
                                 nb::handle dtype) {
    return to_list(unravel_array(to_array(vector, "unravel: the vector"), types, to_dtype(dtype)));
  });
  module.def("optimization_barrier", [](nb::sequence operands) {
    return to_list(lax::optimization_barrier(to_arrays(operands, "optimization_barrier: operand")));
  });
  // Programs that run meanwhile go on reading the memory of the array.
  module.def("delete_array", [](nb::handle object) {
    const Array array = to_array(object, "delete");
    if (array.is_deleted()) return;
    if (!array.is_concrete()) {
      throw TypeError(
          fmt::format("delete: a traced array has no memory, it is {}", array.type().to_string()));
    }
    if (const Storage* memory = array.node().storage()) LockedRun::keep(*memory);
    discard(array);
  });
}

}  // namespace farcall::python
