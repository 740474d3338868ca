// The row exchanges of LU factorization: lu_pivots_to_permutation and exchange_rows.
#include <farcall/ffi.h>

#include <numeric>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/linalg/linalg.h>

#include "linalg/batch_loop.h"
#include "linalg/internal/arrays.h"
#include "linalg/stack.h"
#include "linalg/target.h"

namespace farcall::linalg {
namespace {

// Pivot i exchanges row i with the row pivots[i].
ffi::Error check_pivots(const ffi::Buffer<ffi::S32>& pivots, int64_t count, int64_t rows) {
  if (count > rows) {
    return ffi::Error::InvalidArgument(fmt::format("{} pivots for {} rows", count, rows));
  }
  return check_indices("operand pivots", elements_of(pivots), rows);
}

constexpr Wanted kPermutationWanted[] = {{"operand pivots", Of::kInt32, "k"},
                                         {"result permutation", Of::kInt32, "r"}};

ffi::Error permutation_from(ffi::Buffer<ffi::S32> pivots, ffi::ResultBuffer<ffi::S32> permutation,
                            ffi::ThreadPool pool, int32_t permutation_size) {
  const ffi::AnyBuffer buffers[] = {pivots, *permutation};
  const auto sizes = check_buffers(kPermutationWanted, buffers);
  if (sizes.has_error()) return sizes.error();
  const int count = (*sizes)['k'], rows = (*sizes)['r'];
  if (rows != permutation_size) {
    return ffi::Error::InvalidArgument(fmt::format(
        "result permutation has lists of {}, permutation_size is {}", rows, permutation_size));
  }
  if (ffi::Error error = check_pivots(pivots, count, rows); error.failure()) return error;
  BatchLoop loop(pool, sizes->count, rows, /*calls_blas=*/false);
  return loop.run([&](int64_t i, size_t) {
    int32_t* order = permutation->typed_data() + i * rows;
    const int32_t* pivot = pivots.typed_data() + i * count;
    std::iota(order, order + rows, 0);
    for (int row = 0; row < count; ++row) std::swap(order[row], order[pivot[row]]);
  });
}

constexpr Wanted kExchangeWanted[] = {{"operand x", Of::kMatrix, "mn"},
                                      {"operand pivots", Of::kInt32, "k"},
                                      {"result y", Of::kMatrix, "mn", 0}};

ffi::Error exchange(ffi::AnyBuffer x, ffi::Buffer<ffi::S32> pivots, ffi::Result<ffi::AnyBuffer> y,
                    ffi::ThreadPool pool, bool inverse) {
  const ffi::AnyBuffer buffers[] = {x, pivots, *y};
  const auto sizes = check_buffers(kExchangeWanted, buffers);
  if (sizes.has_error()) return sizes.error();
  const int64_t m = (*sizes)['m'], n = (*sizes)['n'], count = (*sizes)['k'];
  if (ffi::Error error = check_pivots(pivots, count, m); error.failure()) return error;
  return for_lapack_type(sizes->dtype, [&]<class T>() -> ffi::Error {
    T* matrices = y->reinterpret_data<T>();
    copy_unless_same(x.reinterpret_data<T>(), matrices, static_cast<int64_t>(x.element_count()));
    BatchLoop loop(pool, sizes->count, cost_of(count, n), /*calls_blas=*/false);
    return loop.run([&](int64_t i, size_t) {
      exchange_rows(matrices + i * m * n, n, n, pivots.typed_data() + i * count, count, inverse);
    });
  });
}

}  // namespace
}  // namespace farcall::linalg

FARCALL_DEFINE_HANDLER(farcall_lu_pivots_to_permutation, farcall::linalg::permutation_from,
                       "permutation_size");
FARCALL_DEFINE_HANDLER(farcall_laswp, farcall::linalg::exchange, "inverse");

namespace farcall::linalg {
namespace {

std::vector<ShapeDtype> permutation_shape(std::span<const ShapeDtype> operands,
                                          const Attributes& attributes) {
  const Attribute* size = attributes.find("permutation_size");
  if (!size) invalid_argument("farcall_lu_pivots_to_permutation: needs permutation_size, an int32");
  return {{DType::kInt32, with_last(operands[0], 1, {size->as<int32_t>()})}};
}

std::vector<ShapeDtype> exchange_shape(std::span<const ShapeDtype> operands, const Attributes&) {
  return {operands[0]};
}

std::vector<Array> exchange_back(const TargetCall& call, std::span<const Array> operands,
                                 std::span<const Array> cotangents) {
  return {exchange_rows(cotangents[0], operands[1], !flag(call.attributes(), "inverse")), Array()};
}

const RegisterTarget kPermutation("farcall_lu_pivots_to_permutation",
                                  farcall_lu_pivots_to_permutation, 1,
                                  {.shape = permutation_shape, .vmap_method = "broadcast_all"},
                                  /*element_rank=*/1);
const RegisterTarget kExchange("farcall_laswp", farcall_laswp, 2,
                               {.shape = exchange_shape,
                                .linear_in = {{0}},
                                .transpose = exchange_back,
                                .vmap_method = "broadcast_all"});

}  // namespace

Array lu_pivots_to_permutation(const Array& pivots, int64_t permutation_size) {
  if (pivots.rank() == 0 || pivots.dtype() != DType::kInt32) {
    invalid_argument(fmt::format("lu_pivots_to_permutation: pivots must be a list of int32, got {}",
                                 pivots.type().to_string()));
  }
  if (permutation_size < pivots.shape().back() || permutation_size > INT32_MAX) {
    invalid_argument(fmt::format(
        "lu_pivots_to_permutation: permutation_size must be at least the number of pivots, {}; "
        "got {}",
        pivots.shape().back(), permutation_size));
  }
  return call_target("farcall_lu_pivots_to_permutation", permutation_shape, {pivots},
                     {{"permutation_size", static_cast<int32_t>(permutation_size)}})[0];
}

Array exchange_rows(const Array& x, const Array& pivots, bool inverse) {
  check_matrices("exchange_rows", x);
  return call_target("farcall_laswp", exchange_shape, {x, pivots}, {{"inverse", inverse}},
                     {.input_output_aliases = {{0, 0}}})[0];
}

}  // namespace farcall::linalg
