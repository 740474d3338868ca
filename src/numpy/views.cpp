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

DType unsigned_of_width(size_t bytes) {
  switch (bytes) {
    case 1:
      return DType::kUInt8;
    case 2:
      return DType::kUInt16;
    case 4:
      return DType::kUInt32;
    default:
      return DType::kUInt64;
  }
}

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

// 0, width, 2 * width, … bits.
Array bit_offsets(int64_t count, size_t width, DType dtype) {
  return lax::iota(dtype, {count}, 0) * scalar_of(dtype, 8.0 * static_cast<double>(width));
}

// Splits unsigned integers into narrower ones, the lowest first, along a new last dimension.
Array cut(const Array& words, size_t width) {
  const size_t old = byte_width(words.dtype());
  const Array offsets = bit_offsets(static_cast<int64_t>(old / width), width, words.dtype());
  const Array mask = scalar_of(words.dtype(), std::exp2(8.0 * static_cast<double>(width)) - 1);
  return astype(right_shift(expand_dims(words, {-1}), offsets) & mask, unsigned_of_width(width));
}

// Joins unsigned integers along the last dimension, the lowest first, to one wider integer.
Array join(const Array& parts, size_t width) {
  const DType wide = unsigned_of_width(width);
  const Array offsets = bit_offsets(parts.shape().back(), byte_width(parts.dtype()), wide);
  const auto last = static_cast<int64_t>(parts.rank()) - 1;
  return lax::reduce_or(left_shift(astype(parts, wide), offsets), {last});
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
  const size_t width = byte_width(x.dtype()), wanted = byte_width(dtype);
  Array words = lax::bitcast_convert_type(x, unsigned_of_width(width));
  if (wanted < width) {
    check_fits(x.rank() > 0, x, dtype);
    words = merge_last(cut(words, wanted));
  } else if (wanted > width) {
    words = join(split_last(words, static_cast<int64_t>(wanted / width), x, dtype), wanted);
  }
  return lax::bitcast_convert_type(words, dtype);
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
