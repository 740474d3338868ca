// Products of float32 and float64 matrices on one thread. Compiled for each instruction set; the
// best one that the processor supports is used.
//
// An element of a result is a sum of fused multiply-adds in an order that depends only on the inner
// size and on whether A is a single row. Its bits are the same in every tile and for every
// instruction set with fused multiply-add.
#pragma once

#include <cstdint>

#include "engine/native/kernels/products/matrix_product.h"

namespace farcall::native {

class Tiles;

// Tile sizes that are multiples of these leave no remainder in any instruction set.
inline constexpr int64_t kTileRowStep = 8, kTileColumnStep = 48;

// This many products are summed in registers before the sum is added to the result. It is the same
// for every instruction set, because it affects the result's bits.
inline constexpr int64_t kSumDepth = 256;
// The number of partial sums for one row of A times a matrix, to which products are added in turn.
// They are added in pairs at the end.
inline constexpr int64_t kRowSums = 4;

// Elements that multiply_tile() needs for rearranged operands.
int64_t tile_buffer_size(int64_t rows, int64_t depth);

// Multiplies one product without batches, or a tile of it. `buffer` is aligned to kAlignment.
// Returns early if `tiles` says to stop.
template <class T>
void multiply_tile(const Product& tile, T* buffer, Tiles& tiles);

// The same if A is one dense row and the columns of B are dense. Sums in another order.
template <class T>
void multiply_dense_columns(const Product& tile, Tiles& tiles);

// Multiplies the products [first, last) of the batches, with the bits of the functions above, if
// they are small enough to need no rearranged operands. Returns whether they are.
template <class T>
bool multiply_small(const Product& products, int64_t first, int64_t last);

}  // namespace farcall::native
