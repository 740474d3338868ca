// Arrays in other shapes, put together and taken apart: more of what ops/numpy.h and
// ops/numpy_arrays.h have (namespace farcall::numpy).
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
// Which index runs fastest where elements are counted: the last one or the first one.
enum class ElementOrder { kLastFastest, kFirstFastest };
FARCALL_API Array reshape(const Array& x, ListOf<int64_t> shape, ElementOrder order);
FARCALL_API Array ravel(const Array& x, ElementOrder order);
// Dimensions `source` at the positions `destination`, the others in their order.
FARCALL_API Array moveaxis(const Array& x, ListOf<int64_t> source, ListOf<int64_t> destination);
// Dimension `axis` before dimension `start`.
FARCALL_API Array rollaxis(const Array& x, int64_t axis, int64_t start = 0);
// Turned by 90 degrees k times in the plane of two axes, from the first to the second.
FARCALL_API Array rot90(const Array& x, int64_t k = 1, std::pair<int64_t, int64_t> axes = {0, 1});

// ---- putting together; in this dtype if one is given ----
// One after the other along the axis; without an axis flattened first.
FARCALL_API Array concatenate(ListOf<Array> arrays, std::optional<int64_t> axis,
                              std::optional<DType> dtype);
FARCALL_API Array stack(ListOf<Array> arrays, int64_t axis, std::optional<DType> dtype);
// Rows, or arrays along their first dimension, one below the other; along the second dimension,
// vectors along their only one; along the third one.
FARCALL_API Array vstack(ListOf<Array> arrays, std::optional<DType> dtype = {});
FARCALL_API Array hstack(ListOf<Array> arrays, std::optional<DType> dtype = {});
FARCALL_API Array dstack(ListOf<Array> arrays, std::optional<DType> dtype = {});
// Vectors as columns, and matrices as they are, side by side.
FARCALL_API Array column_stack(ListOf<Array> arrays);

// With dimensions of size one in front until there are so many; the third one is put last.
FARCALL_API Array atleast_1d(const Array& x);
FARCALL_API Array atleast_2d(const Array& x);
FARCALL_API Array atleast_3d(const Array& x);

// ---- taking apart ----
// Into parts whose sizes differ by one at most.
FARCALL_API std::vector<Array> array_split(const Array& x, int64_t sections, int64_t axis = 0);
// The slices along the axis, without it.
FARCALL_API std::vector<Array> unstack(const Array& x, int64_t axis = 0);

// ---- shapes ----
// All in the one shape that they broadcast to.
FARCALL_API std::vector<Array> broadcast_arrays(ListOf<Array> arrays);
// Each matrix transposed.
FARCALL_API Array matrix_transpose(const Array& x);

}  // namespace farcall::numpy
