// The primitives on keys as functions. Operands are typed keys; see primitives/random.h.
#pragma once

#include <cstdint>
#include <span>

#include <farcall/trace/array.h>

namespace farcall::random {

// The result has the shape of the keys followed by `shape`.
Array random_bits(const Array& keys, int64_t bit_width, std::span<const int64_t> shape);
Array random_split(const Array& keys, std::span<const int64_t> shape);

// Derives a key from a key and a uint32; operands have one shape or are scalars.
Array random_fold_in(const Array& keys, const Array& data);

}  // namespace farcall::random
