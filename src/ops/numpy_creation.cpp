// numpy's functions that make arrays.
#include <cmath>

#include <fmt/format.h>

#include <farcall/ops/lax.h>

#include "ops/numpy_support.h"

namespace farcall::numpy {

Array full(ListOf<int64_t> shape, const Array& value, std::optional<DType> dtype) {
  return broadcast_to(dtype ? astype(value, *dtype) : value, shape);
}

Array zeros(ListOf<int64_t> shape, DType dtype) { return full(shape, int64_t{0}, dtype); }
Array ones(ListOf<int64_t> shape, DType dtype) { return full(shape, int64_t{1}, dtype); }
Array zeros_like(const Array& x) { return zeros(x.shape(), x.dtype()); }
Array ones_like(const Array& x) { return ones(x.shape(), x.dtype()); }

Array arange(double start, double stop, double step, DType dtype) {
  const double count = std::ceil((stop - start) / step);
  if (step == 0 || !std::isfinite(count) || count > 9e15) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("arange: from {} to {} in steps of {} is no range", start, stop, step));
  }
  const int64_t size = count > 0 ? static_cast<int64_t>(count) : 0;
  Array result = lax::iota(dtype, std::span(&size, 1), 0);
  const auto in_dtype = [&](double value) {
    return is_integer(dtype) ? astype(Array(static_cast<int64_t>(value)), dtype)
                             : astype(Array(value), dtype);
  };
  if (step != 1) result = lax::mul(result, in_dtype(step));
  if (start != 0) result = lax::add(result, in_dtype(start));
  return result;
}

Array eye(int64_t rows, std::optional<int64_t> columns, DType dtype) {
  const int64_t shape[] = {rows, columns.value_or(rows)};
  return lax::convert_element_type(
      lax::eq(lax::iota(DType::kInt32, shape, 0), lax::iota(DType::kInt32, shape, 1)), dtype);
}

}  // namespace farcall::numpy
