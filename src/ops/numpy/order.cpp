// numpy's sorting and cumulative functions.
#include <limits>

#include <farcall/core/config.h>
#include <farcall/ops/cumulative.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy_arrays.h>

#include "ops/internal/numpy.h"

namespace farcall::numpy {
namespace {

Array along_axis_or_flat(Array (*operation)(const Array&, int64_t, bool), const Array& x,
                         std::optional<int64_t> axis, std::optional<DType> dtype,
                         std::string_view function) {
  const auto [flat, which] = along(x, axis, function);
  if (dtype == DType::kBool) return as_bool(operation(counted(as_bool(flat)), which, false));
  return operation(dtype ? astype(flat, *dtype) : strengthen(counted(flat)), which, false);
}

}  // namespace

Array sort(const Array& x, std::optional<int64_t> axis, bool descending) {
  const auto [flat, which] = along(x, axis, "sort");
  const Array sorted = lax::sort(flat, which);
  return descending ? lax::rev(sorted, {&which, 1}) : sorted;
}

Array argsort(const Array& x, std::optional<int64_t> axis, bool descending) {
  const auto [flat, which] = along(x, axis, "argsort");
  const std::span<const int64_t> axes(&which, 1);
  const bool is_long = flat.shape()[which] > std::numeric_limits<int32_t>::max();
  const DType dtype = is_long ? DType::kInt64 : default_int();
  Array operands[] = {flat, lax::iota(dtype, flat.shape(), which)};
  // Reversed before and after sorting, so that equal elements keep their order.
  if (descending) {
    for (Array& operand : operands) operand = lax::rev(operand, axes);
  }
  const Array positions = lax::sort(operands, which)[1];
  return descending ? lax::rev(positions, axes) : positions;
}

Array cumsum(const Array& x, std::optional<int64_t> axis, std::optional<DType> dtype) {
  return along_axis_or_flat(lax::cumsum, x, axis, dtype, "cumsum");
}
Array cumprod(const Array& x, std::optional<int64_t> axis, std::optional<DType> dtype) {
  return along_axis_or_flat(lax::cumprod, x, axis, dtype, "cumprod");
}

}  // namespace farcall::numpy
