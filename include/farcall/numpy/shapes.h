// Functions that reshape, join and split arrays: extends ops/numpy.h and ops/numpy_arrays.h
// (namespace farcall::numpy).
//
// All raise Error (INVALID_ARGUMENT) naming the function for axes and shapes that do not fit.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/array.h>

namespace farcall::numpy {

// ---- order of elements and dimensions ----
// kLastFastest is row-major, kFirstFastest column-major.
enum class ElementOrder { kLastFastest, kFirstFastest };
FARCALL_API Array reshape(const Array& x, ListOf<int64_t> shape, ElementOrder order);
FARCALL_API Array ravel(const Array& x, ElementOrder order);
// Moves dimensions `source` to the positions `destination`; the others keep their order.
FARCALL_API Array moveaxis(const Array& x, ListOf<int64_t> source, ListOf<int64_t> destination);
// Moves dimension `axis` before dimension `start`.
FARCALL_API Array rollaxis(const Array& x, int64_t axis, int64_t start = 0);
// Rotates by 90 degrees k times in the plane of two axes, from the first toward the second.
FARCALL_API Array rot90(const Array& x, int64_t k = 1, std::pair<int64_t, int64_t> axes = {0, 1});

// ---- joining; `dtype` is the dtype of the result ----
// Joins along the axis; without an axis, of the flattened arrays.
FARCALL_API Array concatenate(ListOf<Array> arrays, std::optional<int64_t> axis,
                              std::optional<DType> dtype);
FARCALL_API Array stack(ListOf<Array> arrays, int64_t axis, std::optional<DType> dtype);
// vstack joins along the first dimension, vectors as rows; hstack along the second, vectors along
// their only one; dstack along the third.
FARCALL_API Array vstack(ListOf<Array> arrays, std::optional<DType> dtype = {});
FARCALL_API Array hstack(ListOf<Array> arrays, std::optional<DType> dtype = {});
FARCALL_API Array dstack(ListOf<Array> arrays, std::optional<DType> dtype = {});
// Joins matrices side by side, and vectors as columns.
FARCALL_API Array column_stack(ListOf<Array> arrays);

// Adds leading dimensions of size one up to this rank; atleast_3d puts the third one last.
FARCALL_API Array atleast_1d(const Array& x);
FARCALL_API Array atleast_2d(const Array& x);
FARCALL_API Array atleast_3d(const Array& x);

// ---- splitting ----
// Splits into parts whose sizes differ by at most one.
FARCALL_API std::vector<Array> array_split(const Array& x, int64_t sections, int64_t axis = 0);
// The slices along the axis, without that dimension.
FARCALL_API std::vector<Array> unstack(const Array& x, int64_t axis = 0);

// ---- shapes ----
// Broadcasts all arrays against each other.
FARCALL_API std::vector<Array> broadcast_arrays(ListOf<Array> arrays);
// Each matrix transposed.
FARCALL_API Array matrix_transpose(const Array& x);

}  // namespace farcall::numpy
