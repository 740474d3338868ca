// dynamic_slice and dynamic_update_slice.
#include <algorithm>

#include <fmt/format.h>

#include <farcall/ops/indexing.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/promotion.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/interpreter.h>

#include "ops/indexing/indexing.h"
#include "ops/internal/register.h"
#include "ops/internal/type_rules.h"

namespace farcall {
namespace {

using namespace indexing;

constexpr size_t kSliceStarts = 1, kUpdateStarts = 2;

std::vector<ShapeDtype> dynamic_slice_rule(std::span<const ShapeDtype> inputs,
                                           const Params* params) {
  if (inputs.empty()) invalid_argument("expected an operand and its start indices");
  const ShapeDtype x = inputs[0];
  check_starts(inputs, kSliceStarts);
  const auto& sizes = params_as<DynamicSliceParams>(params).slice_sizes;
  bool fits = sizes.size() == x.rank();
  for (size_t i = 0; fits && i < sizes.size(); ++i)
    fits = 0 <= sizes[i] && sizes[i] <= x.shape()[i];
  if (!fits) {
    invalid_argument(fmt::format("slice_sizes {} must lie in the shape of {}",
                                 shape_to_string(sizes), x.to_string()));
  }
  return {x.with_shape(sizes)};
}

std::vector<ShapeDtype> update_rule(std::span<const ShapeDtype> inputs, const Params*) {
  if (inputs.size() < 2) invalid_argument("expected an operand, an update and start indices");
  const ShapeDtype x = inputs[0], update = inputs[1];
  check_starts(inputs, kUpdateStarts);
  bool fits = update.rank() == x.rank();
  for (size_t i = 0; fits && i < x.rank(); ++i) fits = update.shape()[i] <= x.shape()[i];
  if (!fits) {
    invalid_argument(fmt::format("the update must lie in the operand; got {}",
                                 types_to_string(inputs.first(kUpdateStarts))));
  }
  return {common_dtype(inputs.first(kUpdateStarts), x.shape())};
}

std::vector<Array> with_starts(std::initializer_list<Array> first, std::span<const Array> starts) {
  std::vector<Array> operands(first);
  operands.insert(operands.end(), starts.begin(), starts.end());
  return operands;
}

Array slice_at(const Array& x, std::span<const Array> starts, std::span<const int64_t> sizes) {
  return lax::dynamic_slice(x, starts, sizes, /*allow_negative_indices=*/false);
}
Array update_at(const Array& x, const Array& update, std::span<const Array> starts) {
  return lax::dynamic_update_slice(x, update, starts, /*allow_negative_indices=*/false);
}

// ---- dynamic_slice ----

JvpResults slice_jvp(const JvpCall& call) {
  const auto& sizes = params_as<DynamicSliceParams>(call.params.get()).slice_sizes;
  const auto starts = call.primals.subspan(kSliceStarts);
  return {{slice_at(call.primals[0], starts, sizes)}, {slice_at(call.tangents[0], starts, sizes)}};
}

std::vector<Array> dynamic_slice_transpose(const TransposeCall& call) {
  std::vector<Array> cotangents(call.inputs.size());
  cotangents[0] =
      update_at(zeros_of(call.types[0]), call.cotangents[0], call.inputs.subspan(kSliceStarts));
  return cotangents;
}

// Prepends a start index 0 for the batch dimension. None of the starts is batched.
std::vector<Array> starts_with_zero(std::span<const Array> starts) {
  std::vector<Array> result(starts.begin(), starts.end());
  const DType dtype = starts.empty() ? DType::kInt32 : starts[0].dtype();
  result.insert(result.begin(), zeros_of(ShapeDtype(dtype, {})));
  return result;
}

BatchResults dynamic_slice_batch(const BatchCall& call) {
  const auto& sizes = params_as<DynamicSliceParams>(call.params.get()).slice_sizes;
  if (!any_batched(call, kSliceStarts)) {
    Shape all = sizes;
    all.insert(all.begin(), call.axis.size);
    return {{slice_at(in_front(call, 0), starts_with_zero(call.inputs.subspan(kSliceStarts)), all)},
            {0}};
  }
  const std::vector<int64_t> dims = dims_except(sizes.size(), {});
  GatherDimensionNumbers numbers;
  numbers.offset_dims = shifted(dims);
  const lax::GatherOptions options = {.mode = GatherScatterMode::kClip};
  if (!call.is_batched(0)) {
    numbers.start_index_map = dims;
    return {
        {lax::gather(call.inputs[0], stacked_starts(call, kSliceStarts), numbers, sizes, options)},
        {0}};
  }
  numbers.start_index_map = shifted(dims);
  numbers.operand_batching_dims = {0};
  numbers.start_indices_batching_dims = {0};
  Shape window = sizes;
  window.insert(window.begin(), 1);
  return {{lax::gather(in_front(call, 0), stacked_starts(call, kSliceStarts), numbers, window,
                       options)},
          {0}};
}

// ---- dynamic_update_slice ----

JvpResults update_jvp(const JvpCall& call) {
  const auto starts = call.primals.subspan(kUpdateStarts);
  return {{bind_one(call.primitive, call.params, call.primals)},
          {update_at(or_zeros(call.tangents[0], call.primals[0]),
                     or_zeros(call.tangents[1], call.primals[1]), starts)}};
}

std::vector<Array> update_transpose(const TransposeCall& call) {
  const auto starts = call.inputs.subspan(kUpdateStarts);
  const Array& cotangent = call.cotangents[0];
  std::vector<Array> cotangents(call.inputs.size());
  if (call.is_linear(0)) {
    cotangents[0] = update_at(cotangent, zeros_of(call.types[1]), starts);
  }
  if (call.is_linear(1)) {
    cotangents[1] = slice_at(cotangent, starts, call.types[1].shape());
  }
  return cotangents;
}

BatchResults update_batch(const BatchCall& call) {
  const Array operand = in_front(call, 0), update = in_front(call, 1);
  if (!any_batched(call, kUpdateStarts)) {
    return {{update_at(operand, update, starts_with_zero(call.inputs.subspan(kUpdateStarts)))},
            {0}};
  }
  const std::vector<int64_t> dims = dims_except(operand.rank() - 1, {});
  ScatterDimensionNumbers numbers;
  numbers.update_window_dims = shifted(dims);
  numbers.scatter_dims_to_operand_dims = shifted(dims);
  numbers.operand_batching_dims = {0};
  numbers.scatter_indices_batching_dims = {0};
  return {
      {lax::scatter(
          operand, stacked_starts(call, kUpdateStarts), update, numbers,
          {.mode = GatherScatterMode::kClip, .unique_indices = true, .indices_are_sorted = true})},
      {0}};
}

const TransformRules kDynamicSliceRules = {
    .jvp = slice_jvp, .transpose = dynamic_slice_transpose, .batch = dynamic_slice_batch};
const Primitive kDynamicSlice = {.name = "dynamic_slice",
                                 .type_rule = dynamic_slice_rule,
                                 .parse = parse_params<DynamicSliceParams>,
                                 .flops = no_flops,
                                 .rules = &kDynamicSliceRules};
FARCALL_REGISTER_PRIMITIVE(kDynamicSlice);

const TransformRules kUpdateRules = {
    .jvp = update_jvp, .transpose = update_transpose, .batch = update_batch};
const Primitive kDynamicUpdateSlice = {.name = "dynamic_update_slice",
                                       .type_rule = update_rule,
                                       .flops = no_flops,
                                       .rules = &kUpdateRules};
FARCALL_REGISTER_PRIMITIVE(kDynamicUpdateSlice);

}  // namespace

namespace lax {

Array wrap_negative(const Array& index, int64_t size) {
  if (dtype_info(index.dtype()).kind != DTypeKind::kSigned) return index;
  // The dtype must be able to represent the size.
  const int bits = dtype_info(index.dtype()).bits;
  const DType enough = size <= INT32_MAX ? DType::kInt32 : DType::kInt64;
  const bool is_narrow = size > (INT64_MAX >> (64 - bits));
  const Array wide = is_narrow ? convert_element_type(index, enough) : index;
  const auto scalar = [&](int64_t value) { return convert(value, {wide.dtype(), false}); };
  const Array cases[] = {wide, add(wide, scalar(size))};
  return select_n(lt(wide, scalar(0)), cases);
}

namespace {

std::vector<Array> wrap_all(std::span<const Array> starts, const Array& operand) {
  std::vector<Array> wrapped(starts.begin(), starts.end());
  std::vector<ShapeDtype> types;
  for (size_t i = 0; i < wrapped.size(); ++i) {
    // The primitive raises the error for invalid indices.
    if (i >= operand.rank() || !is_integer(wrapped[i].dtype())) return wrapped;
    wrapped[i] = wrap_negative(wrapped[i], operand.shape()[i]);
    types.push_back(wrapped[i].type());
  }
  if (types.empty()) return wrapped;
  const DType dtype = promote_types(types).dtype;
  for (Array& start : wrapped) start = convert(start, {dtype, false});
  return wrapped;
}

}  // namespace

Array dynamic_slice(const Array& operand, ListOf<Array> start_indices, ListOf<int64_t> slice_sizes,
                    bool allow_negative_indices) {
  if (allow_negative_indices) {
    return dynamic_slice(operand, wrap_all(start_indices, operand), slice_sizes, false);
  }
  return bind_one(kDynamicSlice, make_params(DynamicSliceParams{to_vector(slice_sizes)}),
                  with_starts({operand}, start_indices));
}

Array dynamic_update_slice(const Array& operand, const Array& update, ListOf<Array> start_indices,
                           bool allow_negative_indices) {
  if (allow_negative_indices) {
    return dynamic_update_slice(operand, update, wrap_all(start_indices, operand), false);
  }
  return bind_one(kDynamicUpdateSlice, nullptr, with_starts({operand, update}, start_indices));
}

}  // namespace lax
}  // namespace farcall
