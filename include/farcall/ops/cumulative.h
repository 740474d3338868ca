// Cumulative operations and sorting along one dimension (namespace farcall::lax).
//
// All raise Error (INVALID_ARGUMENT) naming the operation if the operands do not fit.
#pragma once

#include <cstdint>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/array.h>

namespace farcall::lax {

// Element i of the result reduces the elements 0 to i, or i to the last if `reverse`.
FARCALL_API Array cumsum(const Array& x, int64_t axis, bool reverse = false);
FARCALL_API Array cumprod(const Array& x, int64_t axis, bool reverse = false);
FARCALL_API Array cummax(const Array& x, int64_t axis, bool reverse = false);
FARCALL_API Array cummin(const Array& x, int64_t axis, bool reverse = false);
FARCALL_API Array cumlogsumexp(const Array& x, int64_t axis, bool reverse = false);

// Sorts all operands by the first num_keys of them; see SortParams.
FARCALL_API std::vector<Array> sort(ListOf<Array> operands, int64_t dimension,
                                    bool is_stable = true, int64_t num_keys = 1);
FARCALL_API Array sort(const Array& x, int64_t dimension);

// The k largest elements along `axis` in descending order, and their int32 positions. Ties keep
// their order. NaN ranks above all numbers, and 0.0 above -0.0.
struct TopK {
  Array values, indices;
};
FARCALL_API TopK top_k(const Array& x, int64_t k, int64_t axis);
// The k largest or smallest elements. `recall_target`, in (0, 1], is the fraction of them that must
// be found; this implementation finds all. A negative axis counts from the end.
FARCALL_API TopK approx_max_k(const Array& x, int64_t k, int64_t axis = -1,
                              double recall_target = 0.95);
FARCALL_API TopK approx_min_k(const Array& x, int64_t k, int64_t axis = -1,
                              double recall_target = 0.95);

}  // namespace farcall::lax
