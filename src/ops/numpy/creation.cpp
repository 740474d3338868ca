// numpy's functions that create arrays.
#include <farcall/ops/lax.h>

#include "ops/internal/numpy.h"

namespace farcall::numpy {

Array full(ListOf<int64_t> shape, const Array& value, std::optional<DType> dtype) {
  return broadcast_to(dtype ? astype(value, *dtype) : value, shape);
}

Array zeros(ListOf<int64_t> shape, DType dtype) { return full(shape, int64_t{0}, dtype); }
Array ones(ListOf<int64_t> shape, DType dtype) { return full(shape, int64_t{1}, dtype); }
Array zeros_like(const Array& x) { return zeros(x.shape(), x.dtype()); }
Array ones_like(const Array& x) { return ones(x.shape(), x.dtype()); }

Array eye(int64_t rows, std::optional<int64_t> columns, DType dtype) {
  const int64_t shape[] = {rows, columns.value_or(rows)};
  return lax::convert_element_type(
      lax::eq(lax::iota(DType::kInt32, shape, 0), lax::iota(DType::kInt32, shape, 1)), dtype);
}

}  // namespace farcall::numpy
