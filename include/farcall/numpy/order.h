// Order and neighbours: more of what ops/numpy_arrays.h has (namespace farcall::numpy).
//
// All raise Error (INVALID_ARGUMENT) naming the function for axes and shapes that do not fit.
#pragma once

#include <cstdint>
#include <numbers>
#include <optional>
#include <variant>

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/array.h>

namespace farcall::numpy {

// ---- order ----
// The positions along an axis that sort by the last key, then by the one before it, and so on;
// default integers. Raises TypeError without keys.
FARCALL_API Array lexsort(ListOf<Array> keys, int64_t axis = -1);
// x with element `kth` where it is when sorted, the smaller ones before it; and where it takes the
// elements from.
FARCALL_API Array partition(const Array& x, int64_t kth, int64_t axis = -1);
FARCALL_API Array argpartition(const Array& x, int64_t kth, int64_t axis = -1);
// The elements as complex numbers, sorted along the last axis by real part, then by imaginary part.
FARCALL_API Array sort_complex(const Array& x);
// The number of the bin, between rising or falling edges, that each element lies in. An element
// that equals an edge lies in the bin above it, or below it if `right`.
FARCALL_API Array digitize(const Array& x, const Array& edges, bool right = false);

// ---- sums and products of what came before; without an axis, of the flattened array ----
// With 0, or 1, for NaNs.
FARCALL_API Array nancumsum(const Array& x, std::optional<int64_t> axis = {},
                            std::optional<DType> dtype = {});
FARCALL_API Array nancumprod(const Array& x, std::optional<int64_t> axis = {},
                             std::optional<DType> dtype = {});
// Along the axis, which can be left out for a vector; with the empty sum or product in front if
// `include_initial`. Sums have the dtype of sum.
struct CumulativeOptions {
  std::optional<int64_t> axis = {};
  std::optional<DType> dtype = {};
  bool include_initial = false;
};
FARCALL_API Array cumulative_sum(const Array& x, const CumulativeOptions& options = {});
FARCALL_API Array cumulative_prod(const Array& x, const CumulativeOptions& options = {});

// ---- neighbours ----
// Differences along an axis, `order` times over; of bools, whether they differ.
struct DiffOptions {
  int64_t order = 1;  // from 0 to 2^31 - 1
  int64_t axis = -1;
  std::optional<Array> prepend = {}, append = {};  // put before or behind first
};
FARCALL_API Array diff(const Array& x, const DiffOptions& options = {});
// Differences of the flattened array, with these before and behind, in its dtype.
FARCALL_API Array ediff1d(const Array& x, const std::optional<Array>& to_end = {},
                          const std::optional<Array>& to_begin = {});
// The area along an axis under lines through y at the places x, or in steps of dx.
FARCALL_API Array trapezoid(const Array& y, const std::optional<Array>& x = {},
                            const Array& dx = 1.0, int64_t axis = -1);
// p plus multiples of `period`, so that neighbours along an axis differ by no more than half of it;
// only jumps of `discont`, half a period if left out, are changed. Integers stay integers with a
// whole period.
struct UnwrapOptions {
  std::optional<Array> discont = {};
  int64_t axis = -1;
  std::variant<int64_t, double, Array> period = 2 * std::numbers::pi;
};
FARCALL_API Array unwrap(const Array& p, const UnwrapOptions& options = {});

}  // namespace farcall::numpy
