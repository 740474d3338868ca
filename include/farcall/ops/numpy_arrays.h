// numpy's functions of order, of parts of arrays and of products (namespace farcall::numpy); see
// numpy.h for what all of them share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/array.h>

namespace farcall::numpy {

// ---- order; without an axis, of the flattened array ----
FARCALL_API Array sort(const Array& x, std::optional<int64_t> axis = -1, bool descending = false);
// Equal elements keep their order; int32.
FARCALL_API Array argsort(const Array& x, std::optional<int64_t> axis = -1,
                          bool descending = false);
// The dtype of the result is `dtype`, or that of sum.
FARCALL_API Array cumsum(const Array& x, std::optional<int64_t> axis = {},
                         std::optional<DType> dtype = {});
FARCALL_API Array cumprod(const Array& x, std::optional<int64_t> axis = {},
                          std::optional<DType> dtype = {});

// ---- parts ----
// At these indices of the dimension, or into equal parts.
FARCALL_API std::vector<Array> split(const Array& x, ListOf<int64_t> indices, int64_t axis = 0);
FARCALL_API std::vector<Array> split(const Array& x, int64_t sections, int64_t axis = 0);
// Each element, or the whole array, several times.
FARCALL_API Array repeat(const Array& x, int64_t repeats, std::optional<int64_t> axis = {});
FARCALL_API Array tile(const Array& x, ListOf<int64_t> repeats);
// Zeros above, or below, diagonal k of each matrix.
FARCALL_API Array tril(const Array& x, int64_t k = 0);
FARCALL_API Array triu(const Array& x, int64_t k = 0);
// The diagonals become the last dimension.
FARCALL_API Array diagonal(const Array& x, int64_t offset = 0, int64_t axis1 = 0,
                           int64_t axis2 = 1);
FARCALL_API Array trace(const Array& x, int64_t offset = 0, int64_t axis1 = 0, int64_t axis2 = 1);

// ---- products ----
FARCALL_API Array tensordot(const Array& x, const Array& y, ListOf<int64_t> axes_x,
                            ListOf<int64_t> axes_y);
// Einstein's summation: "ij,jk->ik"; "..." stands for dimensions without a letter. Operands are
// multiplied pair by pair: those that `path` names, as numpy.einsum_path gives it, or else always
// the pair with the smallest product.
using EinsumPath = std::vector<std::vector<int64_t>>;
FARCALL_API Array einsum(std::string_view subscripts, ListOf<Array> operands,
                         const std::optional<EinsumPath>& path = {});

}  // namespace farcall::numpy
