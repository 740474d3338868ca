#include <farcall/numpy/views.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/numpy/shapes.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/placement.h>

#include "ops/internal/rules.h"

namespace farcall::numpy {
namespace {

void check_fits(bool fits, const Array& x, DType dtype) {
  if (fits) return;
  invalid_argument(
      fmt::format("view: the last dimension of {} does not hold a whole number of elements of {}",
                  x.type().to_string(), dtype_name(dtype)));
}

// Splits the last dimension of `part`; the new last one has `count` elements. Messages are about
// `x` seen as `dtype`.
Array split_last(const Array& part, int64_t count, const Array& x, DType dtype) {
  check_fits(part.rank() > 0 && part.shape().back() % count == 0, x, dtype);
  Shape shape(part.shape().begin(), part.shape().end());
  shape.back() /= count;
  shape.push_back(count);
  return reshape(part, shape);
}

// Merges the last two dimensions, if there are two.
Array merge_last(const Array& x) {
  if (x.rank() < 2) return x;
  Shape shape(x.shape().begin(), x.shape().end());
  const int64_t last = shape.back();
  shape.pop_back();
  shape.back() *= last;
  return reshape(x, shape);
}

}  // namespace

Array copy(const Array& x) {
  if (x.is_deleted()) deleted_array(x);
  if (!x.is_concrete()) return x;
  const Storage& memory = memory_of(x);
  if (!memory.buffer()) return placed_array(x.type(), memory.copy(), is_committed(x));
  const NamedSharding* sharding = sharding_of(x);
  if (!sharding) return lax::copy(x);
  std::vector<Array> shards = shards_of(x);
  for (Array& shard : shards) shard = copy(shard);
  return array_from_shards(x.type(), *sharding, shards);
}

Array view(const Array& x, DType dtype) {
  if (dtype == x.dtype()) return x;
  if (is_complex(x.dtype())) {
    return view(merge_last(stack({real(x), imag(x)}, -1)), dtype);
  }
  if (x.dtype() == DType::kBool) return view(astype(x, DType::kUInt8), dtype);
  if (dtype == DType::kBool) return not_equal(view(x, DType::kUInt8), 0);
  if (is_complex(dtype)) {
    const auto parts = unstack(split_last(view(x, real_dtype(dtype)), 2, x, dtype), -1);
    return lax::complex(parts[0], parts[1]);
  }
  const int width = dtype_info(x.dtype()).bits, wanted = dtype_info(dtype).bits;
  if (wanted < width) {
    check_fits(x.rank() > 0, x, dtype);
    return merge_last(lax::bitcast_convert_type(x, dtype));
  }
  return lax::bitcast_convert_type(wanted == width ? x : split_last(x, wanted / width, x, dtype),
                                   dtype);
}

Array byteswap(const Array& x) {
  const auto width = static_cast<int64_t>(byte_width(x.dtype()));
  if (width == 1) return x;
  Shape shape(x.shape().begin(), x.shape().end());
  shape.push_back(1);
  const Array bytes = view(reshape(x, shape), DType::kUInt8);
  const int64_t parts = is_complex(x.dtype()) ? 2 : 1;
  shape.back() = parts;
  shape.push_back(width / parts);
  const Array swapped = reshape(flip(reshape(bytes, shape), -1), bytes.shape());
  return reshape(view(swapped, x.dtype()), x.shape());
}

}  // namespace farcall::numpy
