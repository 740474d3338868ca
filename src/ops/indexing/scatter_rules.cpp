// Derivatives and batching of the scatter primitives.
#include <numeric>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/indexing.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/interpreter.h>

#include "ops/indexing/dimension_numbers.h"
#include "ops/indexing/indexing.h"
#include "ops/indexing/scatter.h"
#include "ops/internal/rules.h"

namespace farcall::indexing {
namespace {

const ScatterParams& scatter_params_of(const ParamsPtr& params) {
  return params_as<ScatterParams>(params.get());
}

lax::ScatterOptions scatter_options_of(const ScatterParams& p) {
  return {p.mode, p.unique_indices, p.indices_are_sorted};
}

// Gathers the windows of `x` that a scatter with updates of this type writes. Dropped windows get
// the value `fill`.
Array windows_of(const Array& x, const Array& indices, ShapeDtype updates, const ScatterParams& p,
                 std::optional<std::string> fill) {
  const GatherDimensionNumbers numbers = as_gather(p);
  Shape sizes(x.rank(), 1);
  const std::vector<int64_t> kept = kept_dims(numbers, x.rank());
  for (size_t i = 0; i < kept.size(); ++i) {
    sizes[kept[i]] = updates.shape()[numbers.offset_dims[i]];
  }
  return lax::gather(x, indices, numbers, sizes,
                     {p.mode, std::move(fill), p.unique_indices, p.indices_are_sorted});
}

// Numbers the windows of the updates 1, 2, … in order.
Array window_numbers(ShapeDtype updates, std::span<const int64_t> window_dims) {
  Shape shape = to_vector(updates.shape());
  for (const int64_t dim : window_dims) shape[dim] = 1;
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  const DType dtype = count < INT32_MAX ? DType::kInt32 : DType::kInt64;
  const Array one = lax::convert_element_type(Array(true), dtype);
  const Array numbers = lax::reshape(lax::add(lax::iota(dtype, {&count, 1}, 0), one), shape);
  return lax::broadcast_in_dim(numbers, updates.shape(), dims_except(updates.rank(), {}));
}

Array where_or_zero(const Array& condition, const Array& x) {
  const Array cases[] = {zeros_of(x.type()), x};
  return lax::select_n(condition, cases);
}

[[noreturn]] void needs_unique_indices(std::string_view name) {
  throw Error(ErrorCode::kUnimplemented,
              fmt::format("{}: the derivative with respect to the updates needs "
                          "unique_indices=True: where indices repeat, it is not computed",
                          name));
}

}  // namespace

JvpResults scatter_jvp(const JvpCall& call) {
  const ScatterParams& p = scatter_params_of(call.params);
  const Array& operand = call.primals[0];
  const Array& indices = call.primals[1];
  const Array& updates = call.primals[2];
  const Array result = bind_one(call.primitive, call.params, call.primals);
  const Array operand_tangent = or_zeros(call.tangents[0], operand);
  const Array updates_tangent = or_zeros(call.tangents[2], updates);
  if (p.unique_indices) {
    return {{result},
            {lax::scatter(operand_tangent, indices, updates_tangent, p, scatter_options_of(p))}};
  }
  // If several updates write one element, scatter decides which one wins. To find it, this scatters
  // the numbers of the updates and reads them back. An update contributes to the tangent only where
  // its own number is found. 0 marks elements that no update writes.
  const Array numbers = window_numbers(updates.type(), p.update_window_dims);
  const Array written = lax::scatter(zeros_of(ShapeDtype(numbers.dtype(), operand.shape())),
                                     indices, numbers, p, scatter_options_of(p));
  const Array found = windows_of(written, indices, updates.type(), p, "0");
  const Array kept = where_or_zero(lax::eq(written, zeros_of(written.type())), operand_tangent);
  const Array put = where_or_zero(lax::eq(found, numbers), updates_tangent);
  return {{result}, {lax::scatter_add(kept, indices, put, p, scatter_options_of(p))}};
}

JvpResults scatter_add_jvp(const JvpCall& call) {
  const ScatterParams& p = scatter_params_of(call.params);
  return {
      {bind_one(call.primitive, call.params, call.primals)},
      {lax::scatter_add(or_zeros(call.tangents[0], call.primals[0]), call.primals[1],
                        or_zeros(call.tangents[2], call.primals[2]), p, scatter_options_of(p))}};
}

JvpResults scatter_mul_jvp(const JvpCall& call) {
  const ScatterParams& p = scatter_params_of(call.params);
  const Array& operand = call.primals[0];
  const Array& indices = call.primals[1];
  Array tangent;
  if (!call.tangents[0].is_null()) {
    tangent =
        lax::scatter_mul(call.tangents[0], indices, call.primals[2], p, scatter_options_of(p));
  }
  if (!call.tangents[2].is_null()) {
    if (!p.unique_indices) needs_unique_indices(call.primitive.name);
    const Array spread = lax::scatter_add(zeros_of(operand.type()), indices, call.tangents[2], p,
                                          scatter_options_of(p));
    const Array term = lax::mul(operand, spread);
    tangent = tangent.is_null() ? term : lax::add(tangent, term);
  }
  return {{bind_one(call.primitive, call.params, call.primals)}, {tangent}};
}

JvpResults scatter_extreme_jvp(const JvpCall& call) {
  const ScatterParams& p = scatter_params_of(call.params);
  const Array& operand = call.primals[0];
  const Array& indices = call.primals[1];
  const Array& updates = call.primals[2];
  const Array result = bind_one(call.primitive, call.params, call.primals);
  const Array reached = windows_of(result, indices, updates.type(), p, {});
  const auto as_number = [&](const Array& mask) {
    return lax::convert_element_type(mask, operand.dtype());
  };
  // An element that no update reaches keeps its tangent, also if it is NaN.
  const Array is_reached = lax::scatter(
      zeros_of(operand.type().with_dtype(DType::kBool)), indices,
      broadcast_scalar(scalar_of(DType::kBool, 1), updates.shape()), p, scatter_options_of(p));
  const Array operand_share =
      as_number(lax::bitwise_or(lax::eq(operand, result), lax::bitwise_not(is_reached)));
  const Array update_share = as_number(lax::eq(updates, reached));
  const Array count =
      lax::scatter_add(operand_share, indices, update_share, p, scatter_options_of(p));
  const Array sum = lax::scatter_add(
      lax::mul(or_zeros(call.tangents[0], operand), operand_share), indices,
      lax::mul(or_zeros(call.tangents[2], updates), update_share), p, scatter_options_of(p));
  // Where the result is NaN, no operand equals it, and the tangent is zero.
  return {{result},
          {lax::div(sum, lax::max(count, broadcast_scalar(scalar_of(operand.dtype(), 1),
                                                          operand.shape())))}};
}

std::vector<Array> scatter_transpose(const TransposeCall& call) {
  const ScatterParams& p = scatter_params_of(call.params);
  if (!p.unique_indices) needs_unique_indices(call.primitive.name);
  const Array& cotangent = call.cotangents[0];
  std::vector<Array> cotangents(3);
  if (call.is_linear(0)) {
    cotangents[0] =
        lax::scatter(cotangent, call.inputs[1], zeros_of(call.types[2]), p, scatter_options_of(p));
  }
  if (call.is_linear(2)) {
    cotangents[2] =
        windows_of(cotangent, call.inputs[1], call.types[2], p, zero_text(cotangent.dtype()));
  }
  return cotangents;
}

std::vector<Array> scatter_add_transpose(const TransposeCall& call) {
  const ScatterParams& p = scatter_params_of(call.params);
  const Array& cotangent = call.cotangents[0];
  std::vector<Array> cotangents(3);
  if (call.is_linear(0)) cotangents[0] = cotangent;
  if (call.is_linear(2)) {
    cotangents[2] =
        windows_of(cotangent, call.inputs[1], call.types[2], p, zero_text(cotangent.dtype()));
  }
  return cotangents;
}

std::vector<Array> scatter_mul_transpose(const TransposeCall& call) {
  const ScatterParams& p = scatter_params_of(call.params);
  const Array& cotangent = call.cotangents[0];
  std::vector<Array> cotangents(3);
  if (call.is_linear(0)) {
    cotangents[0] =
        lax::scatter_mul(cotangent, call.inputs[1], call.inputs[2], p, scatter_options_of(p));
  }
  if (call.is_linear(2)) {
    if (!p.unique_indices) needs_unique_indices(call.primitive.name);
    cotangents[2] = windows_of(lax::mul(cotangent, call.inputs[0]), call.inputs[1], call.types[2],
                               p, zero_text(cotangent.dtype()));
  }
  return cotangents;
}

BatchResults scatter_batch(const BatchCall& call) {
  const ScatterParams& p = scatter_params_of(call.params);
  const NewDimension where = call.is_batched(1) ? NewDimension::kInBoth : NewDimension::kInOperand;
  ScatterParams params = p;
  static_cast<ScatterDimensionNumbers&>(params) =
      as_scatter(with_new_dimension(as_gather(p), where));
  params.indices_are_sorted = p.indices_are_sorted && !call.is_batched(1);
  const Array operands[] = {in_front(call, 0),
                            call.is_batched(1) ? in_front(call, 1) : call.inputs[1],
                            in_front(call, 2)};
  return {{bind_one(call.primitive, make_params(std::move(params)), operands)}, {0}};
}

}  // namespace farcall::indexing
