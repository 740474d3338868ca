// dot_general: one matrix product for each index of the batch dimensions. An operand is used in
// place if its dimensions form a matrix in memory, of either order; else it is rearranged into
// scratch.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include <farcall/core/layout.h>
#include <farcall/core/sizes.h>
#include <farcall/core/storage.h>
#include <farcall/primitives/dot_general.h>

#include "engine/native/kernels/elementwise/convert.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/movement/strided_copy.h"
#include "engine/native/kernels/products/byte_product.h"
#include "engine/native/kernels/products/matrix_product.h"
#include "engine/native/kernels/products/short_product.h"

namespace farcall::native {
namespace {

using Types = std::span<const ShapeDtype>;
using Indices = std::vector<int64_t>;

// ---- the plan

// An operand made into one matrix per batch index: rearranged first, then converted.
struct Operand {
  bool is_rearranged = false;
  StridedCopy rearrange;
  Conversion convert;
  int64_t size = 0;
  size_t rearranged_offset = 0, converted_offset = 0;  // offsets in scratch
  int64_t row_stride = 0, column_stride = 0;
  Indices batch_strides;
};

struct DotPlan {
  Multiply multiply = nullptr;
  Operand lhs, rhs;
  Indices batch_sizes;
  int64_t batch = 1, m = 1, k = 1, n = 1;
  size_t width = 0;  // of an element in the type computed in
  Conversion store;
  size_t result_offset = 0;  // in scratch, unless store is a copy
};

const std::byte* prepare(const Operand& operand, const void* data, std::byte* scratch) {
  const auto* now = static_cast<const std::byte*>(data);
  if (operand.is_rearranged) {
    operand.rearrange.run(now, scratch + operand.rearranged_offset);
    now = scratch + operand.rearranged_offset;
  }
  if (!operand.convert.is_copy()) {
    operand.convert.run(now, scratch + operand.converted_offset, operand.size);
    now = scratch + operand.converted_offset;
  }
  return now;
}

void run_dot(const KernelCall& call) {
  const auto& plan = *static_cast<const DotPlan*>(call.data);
  const int64_t size = plan.batch * plan.m * plan.n;
  if (size == 0) return;
  auto* scratch = static_cast<std::byte*>(call.scratch);
  const bool is_direct = plan.store.is_copy();
  auto* result =
      is_direct ? static_cast<std::byte*>(call.operands[2]) : scratch + plan.result_offset;
  if (plan.k == 0) {
    std::memset(result, 0, static_cast<size_t>(size) * plan.width);
  } else {
    const Operand &lhs = plan.lhs, &rhs = plan.rhs;
    plan.multiply({plan.m,
                   plan.k,
                   plan.n,
                   {prepare(lhs, call.operands[0], scratch), lhs.row_stride, lhs.column_stride},
                   {prepare(rhs, call.operands[1], scratch), rhs.row_stride, rhs.column_stride},
                   result,
                   plan.n,
                   {plan.batch_sizes, lhs.batch_strides, rhs.batch_strides, plan.batch}});
  }
  if (!is_direct) plan.store.run(result, call.operands[2], size);
}

// ---- planning

Indices picked(std::span<const int64_t> values, const Indices& dimensions) {
  Indices result;
  for (const int64_t i : dimensions) result.push_back(values[i]);
  return result;
}

int64_t product_of(const Indices& sizes) {
  int64_t product = 1;
  // Saturates: in an empty operand, the product of the other sizes may overflow.
  for (const int64_t size : sizes) product = saturated_product(product, size);
  return product;
}

// The stride with which the dimensions can be walked as one; nullopt if they cannot.
std::optional<int64_t> common_stride(const Indices& sizes, const Indices& strides) {
  std::optional<int64_t> stride;
  int64_t span = 0;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (stride && strides[i] != span) return std::nullopt;
    if (!stride) stride = strides[i];
    span = strides[i] * sizes[i];
  }
  return stride ? stride : 1;
}

// The rows and columns of an operand, each made of one or more dimensions.
struct Parts {
  Indices batch, rows, columns;
};

// Plans to use the operand in place: one stride must be 1, the other at least the size of that
// dimension. Returns false if that does not hold.
bool plan_in_place(Operand& operand, const Parts& parts, std::span<const int64_t> shape,
                   const Indices& strides, bool may_be_beside) {
  const Indices row_sizes = picked(shape, parts.rows), column_sizes = picked(shape, parts.columns);
  const int64_t rows = product_of(row_sizes), columns = product_of(column_sizes);
  const auto row = common_stride(row_sizes, picked(strides, parts.rows));
  const auto column = common_stride(column_sizes, picked(strides, parts.columns));
  if (!row || !column) return false;
  operand.row_stride = *row;
  operand.column_stride = *column;
  // Vectors beside those of other batches are faster after a transpose.
  if (!may_be_beside && (columns == 1) != (rows == 1)) {
    const int64_t stride = columns == 1 ? operand.row_stride : operand.column_stride;
    const bool is_beside_others = std::ranges::any_of(parts.batch, [&](int64_t dimension) {
      return strides[dimension] == 1 && shape[dimension] > 1;
    });
    if (stride != 1 && is_beside_others) return false;
  }
  // A dimension of size 1 may be given any stride.
  if (columns == 1 && rows == 1) {
    operand.row_stride = operand.column_stride = 1;
  } else if (columns == 1) {
    if (operand.row_stride != 1) operand.column_stride = 1;
    if (operand.row_stride == 1) operand.column_stride = rows;
  } else if (rows == 1) {
    if (operand.column_stride != 1) operand.row_stride = 1;
    if (operand.column_stride == 1) operand.row_stride = columns;
  }
  return (operand.column_stride == 1 && operand.row_stride >= columns) ||
         (operand.row_stride == 1 && operand.column_stride >= rows);
}

// Rearranges to batch, rows, columns if the operand cannot be used in place.
Operand plan_operand(const ShapeDtype& type, const Parts& parts, DType compute, bool may_be_beside,
                     size_t& scratch_bytes) {
  Operand operand;
  const auto shape = type.shape();
  const Indices strides = strides_of(shape, row_major(shape.size()));
  const auto take = [&](size_t nbytes) {
    const size_t offset = scratch_bytes;
    const size_t size = memory_sum(nbytes, kAlignment - 1) / kAlignment * kAlignment;
    scratch_bytes = memory_sum(scratch_bytes, size);
    return offset;
  };
  operand.size = type.size();
  operand.convert = make_conversion(type.dtype(), compute);
  operand.batch_strides = picked(strides, parts.batch);
  if (!plan_in_place(operand, parts, shape, strides, may_be_beside)) {
    Indices order = parts.batch;
    order.insert(order.end(), parts.rows.begin(), parts.rows.end());
    order.insert(order.end(), parts.columns.begin(), parts.columns.end());
    const Indices new_shape = picked(shape, order);
    const Indices new_strides = strides_of(new_shape, row_major(new_shape.size()));
    operand.is_rearranged = true;
    operand.rearrange =
        StridedCopy(byte_width(type.dtype()), new_shape, picked(strides, order), new_strides);
    operand.rearranged_offset = take(type.nbytes());
    const int64_t columns = product_of(picked(shape, parts.columns));
    operand.row_stride = columns;
    // A single column is described as dense, like one that is in place.
    operand.column_stride = columns == 1 ? product_of(picked(shape, parts.rows)) : 1;
    operand.batch_strides.assign(new_strides.begin(),
                                 new_strides.begin() + static_cast<int64_t>(parts.batch.size()));
  }
  if (!operand.convert.is_copy()) {
    operand.converted_offset =
        take(memory_product(static_cast<size_t>(type.size()), byte_width(compute)));
  }
  return operand;
}

Indices other_dimensions(size_t rank, const Indices& a, const Indices& b) {
  Indices result;
  for (int64_t i = 0; i < static_cast<int64_t>(rank); ++i) {
    if (std::ranges::find(a, i) == a.end() && std::ranges::find(b, i) == b.end()) {
      result.push_back(i);
    }
  }
  return result;
}

// Sums over contracting dimensions may be taken in any order: the left operand's order lets it stay
// in place.
void sort_contracting(Indices& lhs, Indices& rhs) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (size_t i = 0; i < lhs.size(); ++i) pairs.emplace_back(lhs[i], rhs[i]);
  std::ranges::sort(pairs);
  for (size_t i = 0; i < lhs.size(); ++i) std::tie(lhs[i], rhs[i]) = pairs[i];
}

Kernel make_dot_general(Types inputs, Types outputs, const Params* params) {
  const auto& dimensions = params_as<DotGeneralParams>(params);
  const DType out_dtype = outputs[0].dtype();
  Indices lhs_contracting = dimensions.lhs_contracting;
  Indices rhs_contracting = dimensions.rhs_contracting;
  sort_contracting(lhs_contracting, rhs_contracting);
  const Indices lhs_free =
      other_dimensions(inputs[0].rank(), lhs_contracting, dimensions.lhs_batch);
  const Indices rhs_free =
      other_dimensions(inputs[1].rank(), rhs_contracting, dimensions.rhs_batch);

  auto plan = std::make_shared<DotPlan>();
  size_t scratch_bytes = 0;
  plan->batch_sizes = picked(inputs[0].shape(), dimensions.lhs_batch);
  plan->batch = product_of(plan->batch_sizes);
  plan->m = product_of(picked(inputs[0].shape(), lhs_free));
  plan->k = product_of(picked(inputs[0].shape(), lhs_contracting));
  plan->n = product_of(picked(inputs[1].shape(), rhs_free));
  const DType operands = inputs[0].dtype();
  // With fewer rows, plain loops take as long as sums of two products.
  constexpr int64_t kLeastRows = 4;
  const bool has_rows = plan->m >= kLeastRows || find_byte_product(operands);
  const Multiply short_product =
      operands == inputs[1].dtype() && has_rows ? find_short_product(operands, out_dtype) : nullptr;
  const DType compute = short_product               ? operands
                        : out_dtype == DType::kBool ? out_dtype
                                                    : compute_dtype(out_dtype);
  const auto has_vectors_beside = [&](ShapeDtype type, const Indices& batch) {
    const Indices strides = strides_of(type.shape(), row_major(type.rank()));
    return are_beside(plan->batch_sizes, picked(strides, batch));
  };
  const bool are_all_beside = plan->m == 1 && plan->n == 1 &&
                              (compute == DType::kFloat32 || compute == DType::kFloat64) &&
                              has_vectors_beside(inputs[0], dimensions.lhs_batch) &&
                              has_vectors_beside(inputs[1], dimensions.rhs_batch);
  plan->lhs = plan_operand(inputs[0], {dimensions.lhs_batch, lhs_free, lhs_contracting}, compute,
                           are_all_beside, scratch_bytes);
  plan->rhs = plan_operand(inputs[1], {dimensions.rhs_batch, rhs_contracting, rhs_free}, compute,
                           are_all_beside, scratch_bytes);
  plan->multiply = short_product ? short_product : find_multiply(compute);
  if (!plan->multiply) return {};
  const DType computed = short_product ? DType::kInt32 : compute;
  plan->width = byte_width(computed);
  plan->store = make_conversion(computed, out_dtype);
  if (!plan->store.is_copy()) {
    plan->result_offset = scratch_bytes;
    scratch_bytes = memory_sum(scratch_bytes,
                               memory_product(static_cast<size_t>(outputs[0].size()), plan->width));
  }
  return {.run = run_dot, .data = std::move(plan), .scratch_bytes = scratch_bytes};
}

constexpr KernelRow kRows[] = {{"dot_general", make_dot_general}};

}  // namespace

std::span<const KernelRow> dot_general_rows() { return kRows; }

}  // namespace farcall::native
