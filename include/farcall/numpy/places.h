// Places in arrays: which elements there are, and arrays with elements chosen, replaced, added or
// left out (namespace farcall::numpy).
//
// All raise Error (INVALID_ARGUMENT) naming the function for axes, shapes and places that do not
// fit, and ConcretizationError where a size depends on the values of a traced array.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/array.h>

namespace farcall::numpy {

// ---- elements that are chosen by what they are ----
// How many results there are, where that is not to follow from the values, and what stands for
// missing ones: a number for each dimension, or one for all; 0 if left out.
struct PlaceOptions {
  std::optional<int64_t> size = {};
  std::vector<Array> fill_values = {};
};
// Where x is not zero: a row for each place with an index for each dimension.
FARCALL_API Array argwhere(const Array& x, const PlaceOptions& options = {});
// The same as places in the flattened array.
FARCALL_API Array flatnonzero(const Array& x, const PlaceOptions& options = {});

struct CompressOptions {
  std::optional<int64_t> size = {};
  Array fill_value = 0;
};
// The slices along the axis, or the elements of the flattened array, whose entry in the vector
// `condition` is not zero.
FARCALL_API Array compress(const Array& condition, const Array& x, std::optional<int64_t> axis = {},
                           const CompressOptions& options = {});
// The elements of x where `condition`, of as many elements, is not zero.
FARCALL_API Array extract(const Array& condition, const Array& x,
                          const CompressOptions& options = {});

// The first `size` distinct elements in rising order. Where there are fewer, `fill_value`, the
// smallest element if left out, comes after them.
struct Distinct {
  Array values;
  Array index;    // where each is met first in the flattened array; int32
  Array inverse;  // in the shape of the array: which of them each element is
  Array counts;   // how often each is met
};
FARCALL_API Distinct unique(const Array& x, int64_t size,
                            const std::optional<Array>& fill_value = {}, bool equal_nan = true);

// ---- indices ----
// An index along each of `ndim` dimensions of size n, of the elements on the diagonal.
FARCALL_API std::vector<Array> diag_indices(int64_t n, int64_t ndim = 2);
// The same for an array whose dimensions, two or more, have one size.
FARCALL_API std::vector<Array> diag_indices_from(const Array& x);
// Vectors as indices of all their combinations; a vector of bools stands for the places where it is
// true.
FARCALL_API std::vector<Array> ix_(ListOf<Array> vectors);
// The index along each dimension of elements that are counted in row-major order; numbers outside
// are moved inside.
FARCALL_API std::vector<Array> unravel_index(const Array& indices, ListOf<int64_t> shape);

// What becomes of indices outside: an error, for which they must be known, or the remainder by the
// size, or the nearest one inside.
enum class Outside { kRaise, kWrap, kClip };
struct RavelIndexOptions {
  Outside outside = Outside::kRaise;
  bool first_fastest = false;       // else the last index runs fastest
  std::optional<DType> dtype = {};  // int32 if left out
};
// The number of elements, given by their index along each dimension.
FARCALL_API Array ravel_multi_index(ListOf<Array> indices, ListOf<int64_t> shape,
                                    const RavelIndexOptions& options = {});

// ---- choosing and replacing ----
// Each element from the one of the choices, all broadcast together, that `which` numbers.
FARCALL_API Array choose(const Array& which, ListOf<Array> choices,
                         Outside outside = Outside::kRaise);
// x with `values`, over and over, on its diagonal. A matrix that is higher than wide gets another
// diagonal below each square if `wrap`.
FARCALL_API Array fill_diagonal(const Array& x, const Array& values, bool wrap = false);
// x with `values`, over and over, where `mask`, of as many elements, is not zero.
FARCALL_API Array place(const Array& x, const Array& mask, const Array& values);
// x with `values`, over and over, at places of the flattened array; those outside are left out if
// nothing is said of them.
FARCALL_API Array put(const Array& x, const Array& places, const Array& values,
                      std::optional<Outside> outside = {});

// ---- more or fewer elements; without an axis, of the flattened array ----
// Without the slices of these numbers, from -size to size - 1, each of which may come twice.
FARCALL_API Array delete_(const Array& x, ListOf<int64_t> slices, std::optional<int64_t> axis = {});
// With values, broadcast to a slice for each of `before`, before the slices of these numbers, from
// -size to size.
FARCALL_API Array insert(const Array& x, ListOf<int64_t> before, const Array& values,
                         std::optional<int64_t> axis = {});
// With all values, which may be several slices, before this one slice.
FARCALL_API Array insert_block(const Array& x, int64_t before, const Array& values,
                               std::optional<int64_t> axis = {});
// The elements in row-major order, over and over, in another shape.
FARCALL_API Array resize(const Array& x, ListOf<int64_t> shape);
// Each slice as often as its entry in `counts`, a vector or one number for all. With `total` so
// many are returned: the first ones, or with copies of the last slice behind them.
FARCALL_API Array repeat(const Array& x, const Array& counts, std::optional<int64_t> axis = {},
                         std::optional<int64_t> total = {});

}  // namespace farcall::numpy
