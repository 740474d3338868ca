// Row exchanges, as LU factorisation does them: lu_pivots_to_permutation and exchange_rows.
#include <farcall/ffi.h>

#include <numeric>
#include <string>

#include <fmt/format.h>

#include <farcall/linalg/linalg.h>

#include "linalg/arrays.h"
#include "linalg/stack.h"
#include "linalg/target.h"
#include "ops/type_rules.h"

namespace farcall::linalg {
namespace {

// Pivots and the rows that they exchange, for as many lists of pivots as there are.
struct Exchanges {
  const int32_t* pivots;
  int64_t count, per_list;
};

ffi::ErrorOr<Exchanges> exchanges_of(const ffi::Buffer<ffi::S32>& pivots, int64_t rows) {
  const auto dims = pivots.dimensions();
  if (dims.empty()) return ffi::Error::InvalidArgument("wanted a list of pivots, got a scalar");
  const int64_t per_list = dims.back();
  if (per_list > rows) {
    return ffi::Error::InvalidArgument(std::to_string(per_list) + " pivots for " +
                                       std::to_string(rows) + " rows");
  }
  const int32_t* data = pivots.typed_data();
  for (size_t i = 0; i < pivots.element_count(); ++i) {
    if (data[i] < 0 || data[i] >= rows) {
      return ffi::Error::InvalidArgument("pivot " + std::to_string(data[i]) + " is outside [0, " +
                                         std::to_string(rows) + ")");
    }
  }
  int64_t count = 1;
  for (size_t i = 0; i + 1 < dims.size(); ++i) count *= dims[i];
  return Exchanges{data, count, per_list};
}

ffi::Error permutation_from(ffi::Buffer<ffi::S32> pivots, ffi::ResultBuffer<ffi::S32> permutation,
                            int32_t permutation_size) {
  const auto all = exchanges_of(pivots, permutation_size);
  if (all.has_error()) return all.error();
  const auto got = permutation->dimensions();
  if (got.empty() || got.back() != permutation_size ||
      static_cast<int64_t>(permutation->element_count()) != all->count * permutation_size) {
    return ffi::Error::InvalidArgument("the result must have the dimensions of pivots, the last " +
                                       std::to_string(permutation_size));
  }
  int32_t* order = permutation->typed_data();
  const int32_t* pivot = all->pivots;
  for (int64_t i = 0; i < all->count; ++i, order += permutation_size, pivot += all->per_list) {
    std::iota(order, order + permutation_size, 0);
    for (int64_t row = 0; row < all->per_list; ++row) std::swap(order[row], order[pivot[row]]);
  }
  return ffi::Error::Success();
}

ffi::Error exchange(ffi::AnyBuffer x, ffi::Buffer<ffi::S32> pivots, ffi::Result<ffi::AnyBuffer> y,
                    bool inverse) {
  const auto stack = stack_of(x);
  if (stack.has_error()) return stack.error();
  const auto all = exchanges_of(pivots, stack->rows);
  if (all.has_error()) return all.error();
  if (all->count != stack->count) {
    return ffi::Error::InvalidArgument("x and pivots differ in their leading dimensions");
  }
  if (ffi::Error error = check_result(*y, x, {stack->rows, stack->columns}); error.failure()) {
    return error;
  }
  return for_lapack_type(x.element_type(), [&]<class T>() {
    T* matrix = y->reinterpret_data<T>();
    copy_unless_same(x.reinterpret_data<T>(), matrix, static_cast<int64_t>(x.element_count()));
    for (int64_t i = 0; i < stack->count; ++i, matrix += stack->elements()) {
      exchange_rows(matrix, stack->columns, all->pivots + i * all->per_list, all->per_list,
                    inverse);
    }
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
  if (!size) type_error("farcall_lu_pivots_to_permutation: needs permutation_size, an int32");
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
                                  farcall_lu_pivots_to_permutation,
                                  {.shape = permutation_shape, .vmap_method = "broadcast_all"});
const RegisterTarget kExchange("farcall_laswp", farcall_laswp,
                               {.shape = exchange_shape,
                                .linear_in = {{0}},
                                .transpose = exchange_back,
                                .vmap_method = "broadcast_all"});

}  // namespace

Array lu_pivots_to_permutation(const Array& pivots, int64_t permutation_size) {
  if (pivots.rank() == 0 || pivots.dtype() != DType::kInt32) {
    type_error(fmt::format("lu_pivots_to_permutation: pivots must be a list of int32, got {}",
                           pivots.type().to_string()));
  }
  if (permutation_size < pivots.shape().back() || permutation_size > INT32_MAX) {
    type_error(fmt::format(
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
