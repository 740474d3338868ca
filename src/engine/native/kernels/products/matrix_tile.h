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

// The bytes of the partial sums of a vector times a dense column. They are added in pairs at the
// end.
inline constexpr int64_t kDotBytes = 256;

// Elements that multiply_tile() needs for rearranged operands.
int64_t tile_buffer_size(int64_t rows, int64_t depth);

// All columns of B, rearranged in parts: kPackedParts for each kSumDepth rows.
inline constexpr int64_t kPackedParts = 8;
int64_t packed_size(int64_t columns, int64_t depth);  // elements
template <class T>
void pack_columns(const Product& product, int64_t part, T* packed);

template <class T>
struct Tile {
  Product part;            // of a product, or all of it, without batches
  bool is_of_row = false;  // the whole A is a single row
  // All columns of B, of which the tile has all; null: the tile rearranges them if that pays.
  const T* packed_columns = nullptr;
  bool is_added = false;  // the result to the values of C
};

// `buffer` is aligned to kAlignment. Returns early if `tiles` says to stop.
template <class T>
void multiply_tile(const Tile<T>& tile, T* buffer, Tiles& tiles);

// The same if A is one dense row and the columns of B are dense. Sums in another order.
template <class T>
void multiply_dense_columns(const Product& tile, Tiles& tiles);

// Vectors times columns (m = n = 1) of the batches [first, last), which are beside each other in
// both operands: see are_vectors_beside(). The bits are those of multiply_dense_columns.
template <class T>
void multiply_vectors_beside(const Product& products, int64_t first, int64_t last);

// Multiplies the products [first, last) of the batches, with the bits of the functions above, if
// they are small enough to need no rearranged operands. Returns whether they are.
template <class T>
bool multiply_small(const Product& products, int64_t first, int64_t last);

}  // namespace farcall::native
