// Indices of elements, and arrays with elements chosen, replaced, inserted or deleted (namespace
// farcall::numpy).
//
// All raise Error (INVALID_ARGUMENT) naming the function for axes, shapes and indices that do not
// fit, and ConcretizationError if a size depends on the values of a traced array.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/array.h>

namespace farcall::numpy {

// ---- selection by value ----
// `size`: the number of results, if it must not depend on the values. `fill_values` pad them: one
// for each dimension, or one for all; default 0.
struct PlaceOptions {
  std::optional<int64_t> size = {};
  std::vector<Array> fill_values = {};
};
// The indices of nonzero elements: one row per element, one column per dimension.
FARCALL_API Array argwhere(const Array& x, const PlaceOptions& options = {});
// The same as indices of the flattened array.
FARCALL_API Array flatnonzero(const Array& x, const PlaceOptions& options = {});

struct CompressOptions {
  std::optional<int64_t> size = {};
  Array fill_value = 0;
};
// The slices along the axis, or the elements of the flattened array, whose entry in the vector
// `condition` is nonzero.
FARCALL_API Array compress(const Array& condition, const Array& x, std::optional<int64_t> axis = {},
                           const CompressOptions& options = {});
// The elements of x where `condition`, which has as many elements, is nonzero.
FARCALL_API Array extract(const Array& condition, const Array& x,
                          const CompressOptions& options = {});

// The first `size` distinct elements in ascending order. If there are fewer, the result is padded
// with `fill_value` (default: the smallest element). With `equal_nan`, all NaNs count as one
// element.
struct Distinct {
  Array values;
  Array index;    // of the first occurrence in the flattened array; int32
  Array inverse;  // has the array's shape: the position in `values` of each element
  Array counts;   // the number of occurrences
};
FARCALL_API Distinct unique(const Array& x, int64_t size,
                            const std::optional<Array>& fill_value = {}, bool equal_nan = true);

// Sets with a number of elements that does not depend on the values: the first `size` elements in
// ascending order, or with `assume_unique` those of setdiff1d in their order in x.
struct SetOptions {
  int64_t size;
  // Pads the result. Default: the smallest element, for setdiff1d 0.
  std::optional<Array> fill_value = {};
  bool assume_unique = false;
};
FARCALL_API Array setdiff1d(const Array& x, const Array& y, const SetOptions& options);
FARCALL_API Array setxor1d(const Array& x, const Array& y, const SetOptions& options);
struct Intersection {
  Array values;
  Array first, second;  // of the first occurrences in x and y; padded with their sizes
};
FARCALL_API Intersection intersect1d(const Array& x, const Array& y, const SetOptions& options);

// ---- indices ----
// The indices of the diagonal of an array with `ndim` dimensions of size n, one vector per
// dimension.
FARCALL_API std::vector<Array> diag_indices(int64_t n, int64_t ndim = 2);
// The same for an array with two or more dimensions of equal size.
FARCALL_API std::vector<Array> diag_indices_from(const Array& x);
// Vectors reshaped so that they index all combinations of their elements. A vector of bools stands
// for the indices where it is true.
FARCALL_API std::vector<Array> ix_(ListOf<Array> vectors);
// Converts row-major flat indices to one index per dimension; values out of range are clamped.
FARCALL_API std::vector<Array> unravel_index(const Array& indices, ListOf<int64_t> shape);

// How to treat indices out of range: raise an error (the indices must be known), take them
// modulo the size, or clamp them.
enum class Outside { kRaise, kWrap, kClip };
struct RavelIndexOptions {
  Outside outside = Outside::kRaise;
  bool first_fastest = false;       // column-major; else row-major
  std::optional<DType> dtype = {};  // default int32
};
// The flat index of elements that are given by one index per dimension.
FARCALL_API Array ravel_multi_index(ListOf<Array> indices, ListOf<int64_t> shape,
                                    const RavelIndexOptions& options = {});

// ---- choosing and replacing ----
// Takes each element from choices[which]; all arrays are broadcast together.
FARCALL_API Array choose(const Array& which, ListOf<Array> choices,
                         Outside outside = Outside::kRaise);
// x with `values`, repeated as needed, on its diagonal. If `wrap` and x is a tall matrix, the
// diagonal restarts below each square block.
FARCALL_API Array fill_diagonal(const Array& x, const Array& values, bool wrap = false);
// x with `values`, repeated as needed, where `mask`, which has as many elements, is nonzero.
FARCALL_API Array place(const Array& x, const Array& mask, const Array& values);
// x with `values`, repeated as needed, at these indices of the flattened array. Without `outside`,
// negative indices count from the end, and indices out of range are clamped.
FARCALL_API Array put(const Array& x, const Array& places, const Array& values,
                      std::optional<Outside> outside = {});

// ---- more or fewer elements; without an axis, of the flattened array ----
// Removes the slices with these indices, from -size to size - 1; duplicates are allowed.
FARCALL_API Array delete_(const Array& x, ListOf<int64_t> slices, std::optional<int64_t> axis = {});
// Inserts values before the slices with the indices `before`, from -size to size. The values are
// broadcast to one slice for each index.
FARCALL_API Array insert(const Array& x, ListOf<int64_t> before, const Array& values,
                         std::optional<int64_t> axis = {});
// Inserts all values, which may be several slices, before one slice.
FARCALL_API Array insert_block(const Array& x, int64_t before, const Array& values,
                               std::optional<int64_t> axis = {});
// The elements in row-major order, repeated as needed, in another shape.
FARCALL_API Array resize(const Array& x, ListOf<int64_t> shape);
// Repeats each slice as often as its entry in `counts`, a vector, or one number for all. With
// `total`, the result has this size along the axis: it is truncated, or padded with copies of the
// last slice.
FARCALL_API Array repeat(const Array& x, const Array& counts, std::optional<int64_t> axis = {},
                         std::optional<int64_t> total = {});

}  // namespace farcall::numpy
