// Elements at a fixed distance from each other: taken out of an array, or put in from several.
#pragma once

#include <cstddef>
#include <cstdint>

namespace farcall::native {

// Writes elements 0, stride, 2 stride, ... of `source`, `count` of them, to `target`.
using TakeSpaced = void (*)(const void* source, int64_t stride, int64_t count, void* target);
// For elements of `width` bytes, for the instruction set in use. Vectorized for strides of 2 to 4.
TakeSpaced find_take_spaced(int64_t width);

// Writes elements [first, last) of each of `number` sources in turn: element i of source s to
// element i * number + s of `target`.
using Interleave = void (*)(const void* const* sources, int64_t number, int64_t first, int64_t last,
                            void* target);
// For elements of `width` bytes, for the instruction set in use. Vectorized for 2 to 4 sources.
Interleave find_interleave(int64_t width);

}  // namespace farcall::native
