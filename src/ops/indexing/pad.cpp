// pad.
#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include <farcall/ops/indexing.h>
#include <farcall/ops/lax.h>
#include <farcall/primitives/convolution.h>
#include <farcall/trace/interpreter.h>

#include "ops/indexing/indexing.h"
#include "ops/internal/register.h"
#include "ops/internal/type_rules.h"

namespace farcall {
namespace {

using namespace indexing;

[[noreturn]] void padding_does_not_fit(ShapeDtype x, size_t i, const PaddingDimension& p) {
  invalid_argument(fmt::format("padding ({}, {}, {}) makes dimension {} of {} too large", p.low,
                               p.high, p.interior, i, x.to_string()));
}

int64_t padded_size(ShapeDtype x, size_t i, const PaddingDimension& p) {
  if (p.interior < 0) {
    invalid_argument(fmt::format("interior padding must not be negative, got {} for dimension {}",
                                 p.interior, i));
  }
  const int64_t size = x.shape()[i];
  try {
    return padded(dilated(size, checked_sum(p.interior, 1)), {p.low, p.high});
  } catch (const Error&) {
    padding_does_not_fit(x, i, p);
  }
}

std::vector<ShapeDtype> pad_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 2);
  const auto& config = params_as<PadParams>(params).padding_config;
  const ShapeDtype x = inputs[0];
  if (config.size() != x.rank()) {
    invalid_argument(
        fmt::format("padding_config must have one entry for each dimension of {}, got {}",
                    x.to_string(), config.size()));
  }
  if (inputs[1].rank() != 0) {
    invalid_argument(
        fmt::format("the padding value must be a scalar, got {}", inputs[1].to_string()));
  }
  Shape shape;
  for (size_t i = 0; i < x.rank(); ++i) {
    shape.push_back(padded_size(x, i, config[i]));
    if (shape[i] < 0) {
      invalid_argument(
          fmt::format("padding ({}, {}, {}) removes more elements than dimension {} of {} has",
                      config[i].low, config[i].high, config[i].interior, i, x.to_string()));
    }
  }
  return {common_dtype(inputs, shape)};
}

JvpResults pad_jvp(const JvpCall& call) {
  const auto& config = params_as<PadParams>(call.params.get()).padding_config;
  return {{lax::pad(call.primals[0], call.primals[1], config)},
          {lax::pad(or_zeros(call.tangents[0], call.primals[0]),
                    or_zeros(call.tangents[1], call.primals[1]), config)}};
}

// Extracts the elements that pad copied from its operand.
Array unpad(const Array& x, std::span<const PaddingDimension> config) {
  PaddingConfig trim;
  std::vector<int64_t> starts, limits, strides;
  for (const PaddingDimension& p : config) {
    trim.push_back({-p.low, -p.high, 0});
    strides.push_back(p.interior + 1);
  }
  const Array inner = lax::pad(x, zeros_of(ShapeDtype(x.dtype(), {})), trim);
  return lax::slice(inner, Shape(inner.rank(), 0), inner.shape(), strides);
}

std::vector<Array> pad_transpose(const TransposeCall& call) {
  const auto& config = params_as<PadParams>(call.params.get()).padding_config;
  const Array& cotangent = call.cotangents[0];
  std::vector<Array> cotangents(2);
  const auto total = [](const Array& x) { return lax::reduce_sum(x, dims_except(x.rank(), {})); };
  const Array inside = unpad(cotangent, config);
  if (call.is_linear(0)) cotangents[0] = inside;
  if (call.is_linear(1)) cotangents[1] = lax::sub(total(cotangent), total(inside));
  return cotangents;
}

BatchResults pad_batch(const BatchCall& call) {
  PaddingConfig config = params_as<PadParams>(call.params.get()).padding_config;
  config.insert(config.begin(), PaddingDimension{});
  const Array operand = in_front(call, 0);
  if (!call.is_batched(1)) return {{lax::pad(operand, call.inputs[1], config)}, {0}};
  // Each element of the batch has its own padding value.
  const Array padded = lax::pad(operand, zeros_of(ShapeDtype(operand.dtype(), {})), config);
  const Array inside = lax::broadcast_in_dim(Array(true), operand.shape(), {});
  const Array is_inside = lax::pad(inside, Array(false), config);
  const int64_t front = 0;
  const Array values = lax::broadcast_in_dim(call.inputs[1], padded.shape(), {&front, 1});
  const Array cases[] = {values, padded};
  return {{lax::select_n(is_inside, cases)}, {0}};
}

const TransformRules kPadRules = {.jvp = pad_jvp, .transpose = pad_transpose, .batch = pad_batch};
const Primitive kPad = {.name = "pad",
                        .type_rule = pad_rule,
                        .parse = parse_params<PadParams>,
                        .flops = no_flops,
                        .rules = &kPadRules};
FARCALL_REGISTER_PRIMITIVE(kPad);

}  // namespace

Array lax::pad(const Array& operand, const Array& padding_value,
               std::span<const PaddingDimension> padding_config) {
  const Array operands[] = {operand, padding_value};
  return bind_one(kPad, make_params(PadParams{{padding_config.begin(), padding_config.end()}}),
                  operands);
}

}  // namespace farcall
