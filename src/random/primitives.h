// The primitives on keys as functions. Operands are typed keys; see primitives/random.h.
#pragma once

#include <cstdint>
#include <span>

#include <farcall/trace/array.h>

namespace farcall::random {

// uint32[..., 2] as keys, and back.
Array random_wrap(const Array& words);
Array random_unwrap(const Array& keys);

// The shape of the result is that of the keys followed by `shape`.
Array random_bits(const Array& keys, int64_t bit_width, std::span<const int64_t> shape);
Array random_split(const Array& keys, std::span<const int64_t> shape);

// The key that belongs to the key and a uint32; operands of one shape, or scalars.
Array random_fold_in(const Array& keys, const Array& data);

}  // namespace farcall::random
