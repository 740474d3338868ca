// Primitives that move elements: broadcasts, reshapes, transposes, slices and the like.
#include <farcall/primitives/structural.h>

#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/layout.h>
#include <farcall/ops/indexing.h>
#include <farcall/ops/lax.h>
#include <farcall/primitives/primitives.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/interpreter.h>

#include "ops/internal/register.h"
#include "ops/internal/rules.h"
#include "ops/internal/type_rules.h"

namespace farcall {
namespace {

std::vector<ShapeDtype> broadcast_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 1);
  const auto& p = params_as<BroadcastInDimParams>(params);
  const ShapeDtype x = inputs[0];
  if (p.broadcast_dimensions.size() != x.rank()) {
    invalid_argument(fmt::format("broadcast_dimensions {} must name one dimension for each of {}",
                                 shape_to_string(p.broadcast_dimensions), x.to_string()));
  }
  check_axes(p.broadcast_dimensions, p.shape.size(), "broadcast_dimensions");
  for (size_t i = 0; i < x.rank(); ++i) {
    const int64_t to = p.shape[p.broadcast_dimensions[i]];
    if (x.shape()[i] != 1 && x.shape()[i] != to) {
      invalid_argument(
          fmt::format("dimension {} of {} has size {} and cannot become {}: only size 1 can "
                      "be broadcast",
                      i, x.to_string(), x.shape()[i], to));
    }
  }
  return {x.with_shape(p.shape)};
}

std::vector<ShapeDtype> reshape_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 1);
  const ShapeDtype result = inputs[0].with_shape(params_as<ReshapeParams>(params).new_sizes);
  if (result.size() != inputs[0].size()) {
    invalid_argument(fmt::format("{} has {} elements, {} would have {}", inputs[0].to_string(),
                                 inputs[0].size(), shape_to_string(result.shape()), result.size()));
  }
  return {result};
}

std::vector<ShapeDtype> transpose_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 1);
  const auto& permutation = params_as<TransposeParams>(params).permutation;
  if (permutation.size() != inputs[0].rank() || !is_permutation(permutation)) {
    invalid_argument(fmt::format("{} is not a permutation of the dimensions of {}",
                                 shape_to_string(permutation), inputs[0].to_string()));
  }
  Shape shape;
  for (const int64_t axis : permutation) shape.push_back(inputs[0].shape()[axis]);
  return {inputs[0].with_shape(shape)};
}

std::vector<ShapeDtype> slice_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 1);
  const auto& p = params_as<SliceParams>(params);
  const ShapeDtype x = inputs[0];
  if (p.start_indices.size() != x.rank() || p.limit_indices.size() != x.rank() ||
      p.strides.size() != x.rank()) {
    invalid_argument(
        fmt::format("start_indices, limit_indices and strides need {} entries each for {}",
                    x.rank(), x.to_string()));
  }
  Shape shape;
  for (size_t i = 0; i < x.rank(); ++i) {
    const int64_t start = p.start_indices[i], limit = p.limit_indices[i], stride = p.strides[i];
    if (stride < 1) {
      invalid_argument(
          fmt::format("the stride of dimension {} must be 1 or more, got {}", i, stride));
    }
    if (start < 0 || limit < start || limit > x.shape()[i]) {
      invalid_argument(fmt::format("[{}:{}:{}] does not lie in dimension {} of {}", start, limit,
                                   stride, i, x.to_string()));
    }
    shape.push_back(limit > start ? (limit - start - 1) / stride + 1 : 0);
  }
  return {x.with_shape(shape)};
}

std::vector<ShapeDtype> concatenate_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  const int64_t dimension = params_as<ConcatenateParams>(params).dimension;
  if (inputs.empty()) invalid_argument("expected at least one operand");
  if (dimension < 0 || dimension >= static_cast<int64_t>(inputs[0].rank())) {
    invalid_argument(
        fmt::format("dimension {} does not lie in {}", dimension, inputs[0].to_string()));
  }
  Shape shape = to_shape(inputs[0].shape());
  shape[dimension] = 0;
  for (const ShapeDtype& input : inputs) {
    Shape rest = to_shape(input.shape());
    if (rest.size() == shape.size()) rest[dimension] = shape[dimension];
    if (rest != shape) {
      invalid_argument(fmt::format("operands may differ only in dimension {}; got {}", dimension,
                                   types_to_string(inputs)));
    }
    if (__builtin_add_overflow(shape[dimension], input.shape()[dimension], &shape[dimension])) {
      invalid_argument(fmt::format("dimension {} of the result is too large; got {}", dimension,
                                   types_to_string(inputs)));
    }
  }
  return {common_dtype(inputs, shape)};
}

std::vector<ShapeDtype> rev_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 1);
  check_axes(params_as<RevParams>(params).dimensions, inputs[0].rank(), "dimensions");
  return {inputs[0]};
}

std::vector<ShapeDtype> iota_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 0);
  const auto& p = params_as<IotaParams>(params);
  if (!is_integer(p.dtype) && !is_floating(p.dtype) && !is_complex(p.dtype)) {
    invalid_argument(fmt::format("dtype must be numeric, got {}", dtype_short_name(p.dtype)));
  }
  if (p.dimension < 0 || p.dimension >= static_cast<int64_t>(p.shape.size())) {
    invalid_argument(fmt::format("dimension {} does not lie in shape {}", p.dimension,
                                 shape_to_string(p.shape)));
  }
  return {ShapeDtype(p.dtype, p.shape)};
}

template <class Struct>
Array apply_one(const Primitive& primitive, Struct params, std::span<const Array> operands) {
  return bind_one(primitive, make_params(std::move(params)), operands);
}

// ---- transposition

// Sums over the dimensions that the operand lacks or has with size 1.
std::vector<Array> broadcast_transpose(const TransposeCall& call) {
  const auto& dimensions = params_as<BroadcastInDimParams>(call.params.get()).broadcast_dimensions;
  const Array& cotangent = call.cotangents[0];
  const auto shape = call.types[0].shape();
  std::vector<int64_t> summed = all_dimensions(cotangent.rank());
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (shape[i] == cotangent.shape()[dimensions[i]]) std::erase(summed, dimensions[i]);
  }
  const Array sum = summed.empty() ? cotangent : lax::reduce_sum(cotangent, summed);
  return {lax::reshape(sum, shape)};
}

std::vector<Array> reshape_transpose(const TransposeCall& call) {
  return {lax::reshape(call.cotangents[0], call.types[0].shape())};
}

std::vector<Array> transpose_transpose(const TransposeCall& call) {
  const auto& permutation = params_as<TransposeParams>(call.params.get()).permutation;
  return {lax::transpose(call.cotangents[0], inverse_permutation(permutation))};
}

// Pads with zeros at the positions that the slice did not take.
std::vector<Array> slice_transpose(const TransposeCall& call) {
  const auto& p = params_as<SliceParams>(call.params.get());
  const Array& cotangent = call.cotangents[0];
  PaddingConfig padding;
  for (size_t i = 0; i < cotangent.rank(); ++i) {
    const int64_t count = cotangent.shape()[i];
    const int64_t taken = count == 0 ? 0 : (count - 1) * p.strides[i] + 1;
    const int64_t start = p.start_indices[i];
    padding.push_back({start, call.types[0].shape()[i] - start - taken, p.strides[i] - 1});
  }
  return {lax::pad(cotangent, scalar_of(cotangent.dtype(), 0), padding)};
}

std::vector<Array> concatenate_transpose(const TransposeCall& call) {
  const int64_t dimension = params_as<ConcatenateParams>(call.params.get()).dimension;
  const Array& cotangent = call.cotangents[0];
  Shape starts(cotangent.rank(), 0), limits = to_shape(cotangent.shape());
  limits[dimension] = 0;
  std::vector<Array> found(call.types.size());
  for (size_t i = 0; i < found.size(); ++i) {
    starts[dimension] = limits[dimension];
    limits[dimension] += call.types[i].shape()[dimension];
    if (call.is_linear(i)) found[i] = lax::slice(cotangent, starts, limits);
  }
  return found;
}

// ---- differentiation and batching

JvpResults concatenate_jvp(const JvpCall& call) {
  std::vector<Array> tangents;
  for (size_t i = 0; i < call.tangents.size(); ++i) {
    tangents.push_back(instantiate(call.tangents[i], call.primals[i].type()));
  }
  return {bind_primitive(call.primitive, call.params, call.primals),
          bind_primitive(call.primitive, call.params, tangents)};
}

// Keeps the batch dimension in its place relative to the operand's dimensions, so that no element
// moves.
BatchResults broadcast_batch(const BatchCall& call) {
  BroadcastInDimParams p = params_as<BroadcastInDimParams>(call.params.get());
  const int64_t from = call.axes[0];
  const int64_t to = from == 0 ? 0 : p.broadcast_dimensions[from - 1] + 1;
  p.shape = with_batch(p.shape, to, call.axis.size);
  p.broadcast_dimensions = past_batch(p.broadcast_dimensions, to);
  p.broadcast_dimensions.insert(p.broadcast_dimensions.begin() + from, to);
  return {{apply_one(call.primitive, std::move(p), call.inputs)}, {to}};
}

BatchResults reshape_batch(const BatchCall& call) {
  const auto& sizes = params_as<ReshapeParams>(call.params.get()).new_sizes;
  const Array x = move_axis(call.inputs[0], call.axes[0], 0, call.axis.size);
  return {{lax::reshape(x, with_batch(sizes, 0, call.axis.size))}, {0}};
}

BatchResults transpose_batch(const BatchCall& call) {
  const int64_t axis = call.axes[0];
  auto permutation = past_batch(params_as<TransposeParams>(call.params.get()).permutation, axis);
  permutation.insert(permutation.begin(), axis);
  return {{lax::transpose(call.inputs[0], permutation)}, {0}};
}

BatchResults slice_batch(const BatchCall& call) {
  const auto& p = params_as<SliceParams>(call.params.get());
  const int64_t axis = call.axes[0];
  return {{lax::slice(call.inputs[0], with_batch(p.start_indices, axis, 0),
                      with_batch(p.limit_indices, axis, call.axis.size),
                      with_batch(p.strides, axis, 1))},
          {axis}};
}

BatchResults concatenate_batch(const BatchCall& call) {
  const int64_t axis = *std::ranges::find_if(call.axes, [](int64_t a) { return a != kNotBatched; });
  std::vector<Array> operands;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    operands.push_back(move_axis(call.inputs[i], call.axes[i], axis, call.axis.size));
  }
  const int64_t dimension = params_as<ConcatenateParams>(call.params.get()).dimension;
  return {{lax::concatenate(operands, past_batch(dimension, axis))}, {axis}};
}

BatchResults rev_batch(const BatchCall& call) {
  const auto& dimensions = params_as<RevParams>(call.params.get()).dimensions;
  return {{lax::rev(call.inputs[0], past_batch(dimensions, call.axes[0]))}, {call.axes[0]}};
}

// ---- the primitives

template <class Struct>
constexpr Primitive structural(std::string_view name, decltype(Primitive::type_rule) rule,
                               const TransformRules* rules,
                               PrimitiveKind kind = PrimitiveKind::kOperation) {
  return {.name = name,
          .type_rule = rule,
          .parse = parse_params<Struct>,
          .flops = no_flops,
          .rules = rules,
          .kind = kind};
}

}  // namespace

const TransformRules kBroadcastRules = {
    .jvp = linear_jvp, .transpose = broadcast_transpose, .batch = broadcast_batch};
const Primitive kBroadcastInDim =
    structural<BroadcastInDimParams>("broadcast_in_dim", broadcast_rule, &kBroadcastRules);
FARCALL_REGISTER_PRIMITIVE(kBroadcastInDim);

const TransformRules kReshapeRules = {
    .jvp = linear_jvp, .transpose = reshape_transpose, .batch = reshape_batch};
const Primitive kReshape =
    structural<ReshapeParams>("reshape", reshape_rule, &kReshapeRules, PrimitiveKind::kView);
FARCALL_REGISTER_PRIMITIVE(kReshape);

const TransformRules kTransposeRules = {
    .jvp = linear_jvp, .transpose = transpose_transpose, .batch = transpose_batch};
const Primitive kTranspose = structural<TransposeParams>(
    "transpose", transpose_rule, &kTransposeRules, PrimitiveKind::kTranspose);
FARCALL_REGISTER_PRIMITIVE(kTranspose);

const TransformRules kSliceRules = {
    .jvp = linear_jvp, .transpose = slice_transpose, .batch = slice_batch};
const Primitive kSlice = structural<SliceParams>("slice", slice_rule, &kSliceRules);
FARCALL_REGISTER_PRIMITIVE(kSlice);

const TransformRules kConcatenateRules = {
    .jvp = concatenate_jvp, .transpose = concatenate_transpose, .batch = concatenate_batch};
const Primitive kConcatenate =
    structural<ConcatenateParams>("concatenate", concatenate_rule, &kConcatenateRules);
FARCALL_REGISTER_PRIMITIVE(kConcatenate);

const TransformRules kRevRules = {
    .jvp = linear_jvp, .transpose = self_transpose, .batch = rev_batch};
const Primitive kRev = structural<RevParams>("rev", rev_rule, &kRevRules);
FARCALL_REGISTER_PRIMITIVE(kRev);

// No rules: without operands there is nothing to transform.
const Primitive kIota = structural<IotaParams>("iota", iota_rule, nullptr);
FARCALL_REGISTER_PRIMITIVE(kIota);

namespace lax {

Array broadcast_in_dim(const Array& x, ListOf<int64_t> shape,
                       ListOf<int64_t> broadcast_dimensions) {
  return apply_one(kBroadcastInDim,
                   BroadcastInDimParams{to_shape(shape), to_shape(broadcast_dimensions)}, {&x, 1});
}

Array reshape(const Array& x, ListOf<int64_t> new_sizes) {
  if (std::ranges::equal(x.shape(), new_sizes)) return x;
  return apply_one(kReshape, ReshapeParams{to_shape(new_sizes)}, {&x, 1});
}

Array expand_dims(const Array& x, ListOf<int64_t> dimensions) {
  check_axes(dimensions, x.rank() + dimensions.size(), "expand_dims: dimensions");
  Shape shape = to_shape(x.shape());
  std::vector<int64_t> kept = all_dimensions(x.rank() + dimensions.size());
  for (const int64_t dimension : dimensions) {
    shape.insert(shape.begin() + dimension, 1);
    std::erase(kept, dimension);
  }
  return broadcast_in_dim(x, shape, kept);
}

Array squeeze(const Array& x, ListOf<int64_t> dimensions) {
  check_axes(dimensions, x.rank(), "squeeze: dimensions");
  Shape shape = to_shape(x.shape());
  for (size_t i = dimensions.size(); i-- > 0;) {
    if (shape[dimensions[i]] != 1) {
      invalid_argument(fmt::format(
          "squeeze: dimension {} of {} has size {}; only dimensions of size 1 can be removed",
          dimensions[i], x.type().to_string(), shape[dimensions[i]]));
    }
    shape.erase(shape.begin() + dimensions[i]);
  }
  return reshape(x, shape);
}

Array transpose(const Array& x, ListOf<int64_t> permutation) {
  if (std::ranges::equal(permutation, all_dimensions(x.rank()))) return x;
  return apply_one(kTranspose, TransposeParams{to_shape(permutation)}, {&x, 1});
}

Array slice(const Array& x, ListOf<int64_t> start_indices, ListOf<int64_t> limit_indices,
            ListOf<int64_t> strides) {
  return apply_one(
      kSlice,
      SliceParams{to_shape(start_indices), to_shape(limit_indices),
                  strides.empty() ? std::vector<int64_t>(x.rank(), 1) : to_shape(strides)},
      {&x, 1});
}

Array concatenate(ListOf<Array> operands, int64_t dimension) {
  return apply_one(kConcatenate, ConcatenateParams{dimension}, operands);
}

Array rev(const Array& x, ListOf<int64_t> dimensions) {
  Shape increasing = to_shape(dimensions);
  std::ranges::sort(increasing);
  return apply_one(kRev, RevParams{increasing}, {&x, 1});
}

Array iota(DType dtype, ListOf<int64_t> shape, int64_t dimension) {
  return apply_one(kIota, IotaParams{dtype, to_shape(shape), dimension}, {});
}

}  // namespace lax
}  // namespace farcall
