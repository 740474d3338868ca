// Cumulative operations and sorting along one dimension (namespace farcall::lax).
//
// All raise Error (INVALID_ARGUMENT) when the operands do not fit, naming the operation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/array.h>

namespace farcall::lax {

// Element i reduces those up to i, or from i on if `reverse`.
FARCALL_API Array cumsum(const Array& x, int64_t axis, bool reverse = false);
FARCALL_API Array cumprod(const Array& x, int64_t axis, bool reverse = false);
FARCALL_API Array cummax(const Array& x, int64_t axis, bool reverse = false);
FARCALL_API Array cummin(const Array& x, int64_t axis, bool reverse = false);
FARCALL_API Array cumlogsumexp(const Array& x, int64_t axis, bool reverse = false);

// All operands in the order of the first num_keys of them; see SortParams.
FARCALL_API std::vector<Array> sort(ListOf<Array> operands, int64_t dimension,
                                    bool is_stable = true, int64_t num_keys = 1);
FARCALL_API Array sort(const Array& x, int64_t dimension);

// The k largest elements along `axis`, largest first, and their int32 positions; among equal ones
// the first comes first; NaN is above all numbers, and 0.0 above -0.0.
struct TopK {
  Array values, indices;
};
FARCALL_API TopK top_k(const Array& x, int64_t k, int64_t axis);
// The k largest and the k smallest elements, of which at least a part of `recall_target`, in
// (0, 1], has to be found: here all of them. The axis may count from the end.
FARCALL_API TopK approx_max_k(const Array& x, int64_t k, int64_t axis = -1,
                              double recall_target = 0.95);
FARCALL_API TopK approx_min_k(const Array& x, int64_t k, int64_t axis = -1,
                              double recall_target = 0.95);

}  // namespace farcall::lax
