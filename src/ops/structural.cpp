// Primitives that move elements: broadcasts, reshapes, transposes, slices and the like.
#include <farcall/primitives/structural.h>

#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/layout.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/interpreter.h>

#include "ops/register.h"
#include "ops/type_rules.h"

namespace farcall {
namespace {

std::vector<int64_t> to_vector(std::span<const int64_t> values) {
  return {values.begin(), values.end()};
}

std::vector<ShapeDtype> broadcast_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 1);
  const auto& p = params_as<BroadcastInDimParams>(params);
  const ShapeDtype x = inputs[0];
  if (p.broadcast_dimensions.size() != x.rank()) {
    type_error(fmt::format("broadcast_dimensions {} must name one dimension for each of {}",
                           shape_to_string(p.broadcast_dimensions), x.to_string()));
  }
  check_axes(p.broadcast_dimensions, p.shape.size(), "broadcast_dimensions");
  for (size_t i = 0; i < x.rank(); ++i) {
    const int64_t to = p.shape[p.broadcast_dimensions[i]];
    if (x.shape()[i] != 1 && x.shape()[i] != to) {
      type_error(
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
    type_error(fmt::format("{} has {} elements, {} would have {}", inputs[0].to_string(),
                           inputs[0].size(), shape_to_string(result.shape()), result.size()));
  }
  return {result};
}

std::vector<ShapeDtype> transpose_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 1);
  const auto& permutation = params_as<TransposeParams>(params).permutation;
  if (permutation.size() != inputs[0].rank() || !is_permutation(permutation)) {
    type_error(fmt::format("{} is not a permutation of the dimensions of {}",
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
    type_error(fmt::format("start_indices, limit_indices and strides need {} entries each for {}",
                           x.rank(), x.to_string()));
  }
  Shape shape;
  for (size_t i = 0; i < x.rank(); ++i) {
    const int64_t start = p.start_indices[i], limit = p.limit_indices[i], stride = p.strides[i];
    if (start < 0 || limit < start || limit > x.shape()[i] || stride < 1) {
      type_error(fmt::format("[{}:{}:{}] does not lie in dimension {} of {}", start, limit, stride,
                             i, x.to_string()));
    }
    shape.push_back(limit > start ? (limit - start - 1) / stride + 1 : 0);
  }
  return {x.with_shape(shape)};
}

std::vector<ShapeDtype> concatenate_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  const int64_t dimension = params_as<ConcatenateParams>(params).dimension;
  if (inputs.empty()) type_error("expected at least one operand");
  if (dimension < 0 || dimension >= static_cast<int64_t>(inputs[0].rank())) {
    type_error(fmt::format("dimension {} does not lie in {}", dimension, inputs[0].to_string()));
  }
  Shape shape = to_vector(inputs[0].shape());
  shape[dimension] = 0;
  for (const ShapeDtype input : inputs) {
    Shape rest = to_vector(input.shape());
    if (rest.size() == shape.size()) rest[dimension] = shape[dimension];
    if (rest != shape) {
      type_error(fmt::format("operands may differ in dimension {} alone; got {}", dimension,
                             describe(inputs)));
    }
    if (__builtin_add_overflow(shape[dimension], input.shape()[dimension], &shape[dimension])) {
      type_error(fmt::format("dimension {} of the result is too large; got {}", dimension,
                             describe(inputs)));
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
    type_error(fmt::format("counts in numbers, not in {}", dtype_short_name(p.dtype)));
  }
  if (p.dimension < 0 || p.dimension >= static_cast<int64_t>(p.shape.size())) {
    type_error(fmt::format("dimension {} does not lie in shape {}", p.dimension,
                           shape_to_string(p.shape)));
  }
  return {ShapeDtype(p.dtype, p.shape)};
}

int64_t no_flops(std::span<const ShapeDtype>, std::span<const ShapeDtype>, const Params*) {
  return 0;
}

template <class Struct>
constexpr Primitive structural(std::string_view name, decltype(Primitive::type_rule) rule) {
  return {.name = name, .type_rule = rule, .parse = parse_params<Struct>, .flops = no_flops};
}

const Primitive kBroadcastInDim =
    structural<BroadcastInDimParams>("broadcast_in_dim", broadcast_rule);
FARCALL_REGISTER_PRIMITIVE(kBroadcastInDim);
const Primitive kReshape = structural<ReshapeParams>("reshape", reshape_rule);
FARCALL_REGISTER_PRIMITIVE(kReshape);
const Primitive kTranspose = structural<TransposeParams>("transpose", transpose_rule);
FARCALL_REGISTER_PRIMITIVE(kTranspose);
const Primitive kSlice = structural<SliceParams>("slice", slice_rule);
FARCALL_REGISTER_PRIMITIVE(kSlice);
const Primitive kConcatenate = structural<ConcatenateParams>("concatenate", concatenate_rule);
FARCALL_REGISTER_PRIMITIVE(kConcatenate);
const Primitive kRev = structural<RevParams>("rev", rev_rule);
FARCALL_REGISTER_PRIMITIVE(kRev);
const Primitive kIota = structural<IotaParams>("iota", iota_rule);
FARCALL_REGISTER_PRIMITIVE(kIota);

template <class Struct>
Array apply(const Primitive& primitive, Struct params, std::span<const Array> operands) {
  return bind_one(primitive, make_params(std::move(params)), operands);
}

}  // namespace

namespace lax {

Array broadcast_in_dim(const Array& x, std::span<const int64_t> shape,
                       std::span<const int64_t> broadcast_dimensions) {
  return apply(kBroadcastInDim,
               BroadcastInDimParams{to_vector(shape), to_vector(broadcast_dimensions)}, {&x, 1});
}

Array reshape(const Array& x, std::span<const int64_t> new_sizes) {
  return apply(kReshape, ReshapeParams{to_vector(new_sizes)}, {&x, 1});
}

Array transpose(const Array& x, std::span<const int64_t> permutation) {
  return apply(kTranspose, TransposeParams{to_vector(permutation)}, {&x, 1});
}

Array slice(const Array& x, std::span<const int64_t> start_indices,
            std::span<const int64_t> limit_indices, std::span<const int64_t> strides) {
  return apply(
      kSlice,
      SliceParams{to_vector(start_indices), to_vector(limit_indices),
                  strides.empty() ? std::vector<int64_t>(x.rank(), 1) : to_vector(strides)},
      {&x, 1});
}

Array concatenate(std::span<const Array> operands, int64_t dimension) {
  return apply(kConcatenate, ConcatenateParams{dimension}, operands);
}

Array rev(const Array& x, std::span<const int64_t> dimensions) {
  return apply(kRev, RevParams{to_vector(dimensions)}, {&x, 1});
}

Array iota(DType dtype, std::span<const int64_t> shape, int64_t dimension) {
  return apply(kIota, IotaParams{dtype, to_vector(shape), dimension}, {});
}

}  // namespace lax
}  // namespace farcall
