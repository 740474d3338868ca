// Attention, reductions by segments, trees as vectors.
#include "bind.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "numpy_api.h"

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/attention.h>
#include <farcall/ops/optimization_barrier.h>
#include <farcall/ops/ravel.h>
#include <farcall/ops/segments.h>
#include <farcall/trace/placement.h>

#include "array_object.h"
#include "convert.h"

namespace farcall::python {
namespace {

std::vector<Array> to_arrays(nb::sequence arrays, const char* what) {
  std::vector<Array> result;
  for (nb::handle array : arrays) {
    result.push_back(to_array(array, fmt::format("{}[{}]", what, result.size())));
  }
  return result;
}

nb::list to_list(std::span<const Array> arrays) {
  nb::list list;
  for (const Array& array : arrays) list.append(wrap_object(array));
  return list;
}

void bind_segments(nb::module_& module) {
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

nb::tuple call_attention(nb::handle query, nb::handle key, nb::handle value, nb::handle bias,
                         nb::handle mask, std::optional<double> scale, bool is_causal,
                         nb::handle query_lengths, nb::handle key_lengths,
                         std::optional<std::pair<int64_t, int64_t>> window) {
  const auto argument = [](nb::handle object, const char* name) {
    return to_array(object, fmt::format("dot_product_attention: argument {}", name));
  };
  const auto optional = [&](nb::handle object, const char* name) -> std::optional<Array> {
    if (object.is_none()) return std::nullopt;
    return argument(object, name);
  };
  const nn::Attention result =
      nn::attention(argument(query, "query"), argument(key, "key"), argument(value, "value"),
                    {optional(bias, "bias"), optional(mask, "mask"), scale, is_causal,
                     optional(query_lengths, "query_seq_lengths"),
                     optional(key_lengths, "key_value_seq_lengths"), window});
  return nb::make_tuple(wrap_object(result.output), wrap_object(result.residual));
}

}  // namespace

void bind_attention(nb::module_& module) {
  bind_segments(module);
  module.def("attention", call_attention, nb::arg("query").none(), nb::arg("key").none(),
             nb::arg("value").none(), nb::arg("bias").none(), nb::arg("mask").none(),
             nb::arg("scale").none(), nb::arg("is_causal"), nb::arg("query_seq_lengths").none(),
             nb::arg("key_value_seq_lengths").none(), nb::arg("local_window_size").none());
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
  // Gives the memory of a concrete array up.
  module.def("delete_array", [](nb::handle object) {
    const Array array = to_array(object, "delete");
    if (array.is_deleted()) return;
    if (!array.is_concrete()) {
      throw TypeError(
          fmt::format("delete: a traced array has no memory, it is {}", array.type().to_string()));
    }
    discard(array);
  });
}

}  // namespace farcall::python
