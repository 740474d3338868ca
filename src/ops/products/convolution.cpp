// conv_general_dilated.
#include <farcall/primitives/convolution.h>

#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/layout.h>
#include <farcall/ops/convolution.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/rules.h>

#include "ops/internal/register.h"
#include "ops/internal/rules.h"
#include "ops/internal/type_rules.h"

namespace farcall {
namespace {

using Indices = std::vector<int64_t>;

// ---- types

void check_dimension_spec(const Indices& spec, ShapeDtype type, size_t rank,
                          std::string_view what) {
  if (type.rank() != rank || spec.size() != rank || !is_permutation(spec)) {
    invalid_argument(fmt::format("{} {} must be a permutation of {} dimensions; the operand is {}",
                                 what, shape_to_string(spec), rank, type.to_string()));
  }
}

void check_counts(const ConvParams& p, size_t count) {
  const std::pair<std::string_view, const Indices*> lists[] = {
      {"window_strides", &p.window_strides},
      {"lhs_dilation", &p.lhs_dilation},
      {"rhs_dilation", &p.rhs_dilation}};
  for (const auto& [name, values] : lists) {
    if (values->size() != count || std::ranges::any_of(*values, [](int64_t v) { return v < 1; })) {
      invalid_argument(
          fmt::format("{} {} must be {} positive numbers", name, shape_to_string(*values), count));
    }
  }
  if (p.padding.size() != count) {
    invalid_argument(
        fmt::format("padding has {} pairs for {} spatial dimensions", p.padding.size(), count));
  }
  if (p.feature_group_count < 1 || p.batch_group_count < 1 ||
      (p.feature_group_count > 1 && p.batch_group_count > 1)) {
    invalid_argument(
        fmt::format("feature_group_count {} and batch_group_count {} must be positive, and "
                    "one of them 1",
                    p.feature_group_count, p.batch_group_count));
  }
}

void check_features(const ConvParams& p, ShapeDtype lhs, ShapeDtype rhs) {
  const int64_t batch = lhs.shape()[p.lhs_spec[0]], features = lhs.shape()[p.lhs_spec[1]];
  const int64_t out_features = rhs.shape()[p.rhs_spec[0]], depth = rhs.shape()[p.rhs_spec[1]];
  // One of them is 1.
  const int64_t groups = p.feature_group_count * p.batch_group_count;
  if (features != checked_product(depth, p.feature_group_count)) {
    invalid_argument(fmt::format("the {} features of {} are not {} times the {} of {}", features,
                                 lhs.to_string(), p.feature_group_count, depth, rhs.to_string()));
  }
  if (out_features % groups != 0 || batch % p.batch_group_count != 0) {
    invalid_argument(
        fmt::format("{} output features and a batch of {} do not divide into "
                    "feature_group_count {} and batch_group_count {}",
                    out_features, batch, p.feature_group_count, p.batch_group_count));
  }
}

std::vector<ShapeDtype> conv_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 2);
  const auto& p = params_as<ConvParams>(params);
  const ShapeDtype lhs = inputs[0], rhs = inputs[1];
  const size_t rank = lhs.rank();
  if (rank < 2)
    invalid_argument(fmt::format("needs batch and features; got {}", types_to_string(inputs)));
  check_dimension_spec(p.lhs_spec, lhs, rank, "lhs_spec");
  check_dimension_spec(p.rhs_spec, rhs, rank, "rhs_spec");
  if (p.out_spec.size() != rank || !is_permutation(p.out_spec)) {
    invalid_argument(fmt::format("out_spec {} must be a permutation of {} dimensions",
                                 shape_to_string(p.out_spec), rank));
  }
  check_counts(p, rank - 2);
  check_features(p, lhs, rhs);
  Shape shape(rank);
  shape[p.out_spec[0]] = lhs.shape()[p.lhs_spec[0]] / p.batch_group_count;
  shape[p.out_spec[1]] = rhs.shape()[p.rhs_spec[0]];
  for (size_t i = 0; i + 2 < rank; ++i) {
    const int64_t size =
        padded(dilated(lhs.shape()[p.lhs_spec[i + 2]], p.lhs_dilation[i]), p.padding[i]);
    const int64_t window = dilated(rhs.shape()[p.rhs_spec[i + 2]], p.rhs_dilation[i]);
    shape[p.out_spec[i + 2]] = num_windows(size, window, p.window_strides[i]);
  }
  const ShapeDtype type = common_dtype(inputs, shape);
  if (type.is_token() || type.dtype() == DType::kBool || is_key(type.dtype())) {
    invalid_argument(fmt::format("is not defined for {}", types_to_string(inputs)));
  }
  return {type};
}

int64_t conv_flops(std::span<const ShapeDtype> inputs, std::span<const ShapeDtype> outputs,
                   const Params* params) {
  const int64_t features = inputs[1].shape()[params_as<ConvParams>(params).rhs_spec[0]];
  if (features == 0) return 0;
  return saturated_product(saturated_product(2, outputs[0].size()), inputs[1].size() / features);
}

// ---- reshaping

// Splits a dimension into two, the first of size `count`.
Array split_dimension(const Array& x, int64_t dimension, int64_t count) {
  Shape shape = to_shape(x.shape());
  shape[dimension] = count == 0 ? 0 : shape[dimension] / count;
  shape.insert(shape.begin() + dimension, count);
  return lax::reshape(x, shape);
}

// Merges dimension `from` into dimension `to` (counted without `from`). The index of `to` varies
// faster.
Array merge_dimension(const Array& x, int64_t from, int64_t to) {
  const Array moved = move_axis(x, from, to, x.shape()[from]);
  Shape shape = to_shape(moved.shape());
  shape[to] = checked_product(shape[to], shape[to + 1]);
  shape.erase(shape.begin() + to + 1);
  return lax::reshape(moved, shape);
}

// The same inside each of the groups that dimension `to` consists of.
Array merge_below_groups(const Array& x, int64_t from, int64_t to, int64_t groups) {
  const Array in_front = move_axis(x, from, 0, x.shape()[from]);
  const Array apart = split_dimension(in_front, to + 1, groups);  // batch … groups rest
  return merge_dimension(merge_dimension(apart, 0, to + 1), to, to);
}

// ---- derivatives

Indices sizes_of(const Array& x, ShapeDtype type, const Indices& spec) {
  const auto shape = x.is_null() ? type.shape() : x.shape();
  Indices sizes;
  for (size_t i = 2; i < spec.size(); ++i) sizes.push_back(shape[spec[i]]);
  return sizes;
}

Indices exchanged(Indices spec) {
  std::swap(spec[0], spec[1]);
  return spec;
}

// Dilated sizes, from which the padding of the transposed convolution follows.
struct Extents {
  Indices lhs, rhs, out;  // of the spatial dimensions

  Extents(const TransposeCall& call, const ConvParams& p) {
    lhs = sizes_of(call.inputs[0], call.types[0], p.lhs_spec);
    rhs = sizes_of(call.inputs[1], call.types[1], p.rhs_spec);
    out = sizes_of(call.cotangents[0], {}, p.out_spec);
    for (size_t i = 0; i < lhs.size(); ++i) {
      lhs[i] = dilated(lhs[i], p.lhs_dilation[i]);
      rhs[i] = dilated(rhs[i], p.rhs_dilation[i]);
      out[i] = dilated(out[i], p.window_strides[i]);
    }
  }
};

// The cotangent of lhs: the cotangent of the result, dilated by the strides, is convolved with the
// reversed weights, whose input and output features change roles. The padding is such that the
// result has the size of lhs.
Array transpose_lhs(const TransposeCall& call, const ConvParams& p) {
  const Extents extents(call, p);
  const int64_t groups = std::max(p.feature_group_count, p.batch_group_count);
  ConvParams back = p;
  back.batch_group_count = 1;
  back.feature_group_count = groups;
  back.window_strides = p.lhs_dilation;
  back.lhs_dilation = p.window_strides;
  back.lhs_spec = p.out_spec;
  back.rhs_spec = exchanged(p.rhs_spec);
  back.out_spec = p.lhs_spec;
  for (size_t i = 0; i < extents.lhs.size(); ++i) {
    const int64_t before = checked_difference(extents.rhs[i], checked_sum(p.padding[i].first, 1));
    const int64_t around =
        checked_difference(checked_sum(extents.lhs[i], extents.rhs[i] - 1), extents.out[i]);
    back.padding[i] = {before, checked_difference(around, before)};
  }
  Array rhs = call.inputs[1];
  if (groups > 1) {
    rhs =
        merge_dimension(split_dimension(rhs, p.rhs_spec[0], groups), p.rhs_spec[0], p.rhs_spec[1]);
  }
  Indices spatial(p.rhs_spec.begin() + 2, p.rhs_spec.end());
  std::ranges::sort(spatial);
  Array result =
      lax::conv_general_dilated(call.cotangents[0], lax::rev(rhs, spatial), std::move(back));
  if (p.batch_group_count == 1) return result;
  return merge_dimension(split_dimension(result, p.lhs_spec[1], groups), p.lhs_spec[1],
                         p.lhs_spec[0]);
}

// The cotangent of the weights: lhs is convolved with the cotangent of the result as weights. The
// sum is over the batch, so batch and features change roles, and so do strides and dilation of the
// weights.
Array transpose_rhs(const TransposeCall& call, const ConvParams& p) {
  const Extents extents(call, p);
  ConvParams back = p;
  std::swap(back.batch_group_count, back.feature_group_count);
  std::swap(back.window_strides, back.rhs_dilation);
  back.lhs_spec = exchanged(p.lhs_spec);
  back.rhs_spec = exchanged(p.out_spec);
  back.out_spec = exchanged(p.rhs_spec);
  for (size_t i = 0; i < extents.lhs.size(); ++i) {
    const int64_t before = p.padding[i].first;
    const int64_t around =
        checked_sum(checked_difference(extents.out[i], extents.lhs[i]), extents.rhs[i] - 1);
    back.padding[i].second = checked_difference(around, before);
  }
  return lax::conv_general_dilated(call.inputs[0], call.cotangents[0], std::move(back));
}

std::vector<Array> conv_transpose(const TransposeCall& call) {
  const auto& p = params_as<ConvParams>(call.params.get());
  if (call.is_linear(0) == call.is_linear(1)) not_linear(call.primitive);
  // Without results all cotangents are zero, and no window would fit.
  if (call.cotangents[0].size() == 0) return std::vector<Array>(2);
  if (call.is_linear(0)) return {transpose_lhs(call, p), {}};
  return {{}, transpose_rhs(call, p)};
}

JvpResults conv_jvp(const JvpCall& call) {
  const auto& p = params_as<ConvParams>(call.params.get());
  const auto term = [&](const Array& lhs, const Array& rhs) {
    return lhs.is_null() || rhs.is_null() ? Array() : lax::conv_general_dilated(lhs, rhs, p);
  };
  return {{lax::conv_general_dilated(call.primals[0], call.primals[1], p)},
          {add_tangents(term(call.tangents[0], call.primals[1]),
                        term(call.primals[0], call.tangents[1]))}};
}

// ---- batching

// Each element of the batch becomes a group.
BatchResults batch_both(const BatchCall& call, ConvParams p) {
  const auto& [lhs, rhs] = std::pair(call.inputs[0], call.inputs[1]);
  const int64_t size = call.axis.size;
  const bool by_batch = p.batch_group_count > 1;
  int64_t& groups = by_batch ? p.batch_group_count : p.feature_group_count;
  groups = checked_product(groups, size);
  const Array result =
      lax::conv_general_dilated(merge_dimension(lhs, call.axes[0], p.lhs_spec[by_batch ? 0 : 1]),
                                merge_dimension(rhs, call.axes[1], p.rhs_spec[0]), p);
  return {{split_dimension(result, p.out_spec[1], size)}, {p.out_spec[1]}};
}

BatchResults batch_lhs(const BatchCall& call, const ConvParams& p) {
  const Array lhs =
      merge_below_groups(call.inputs[0], call.axes[0], p.lhs_spec[0], p.batch_group_count);
  const Array result = lax::conv_general_dilated(lhs, call.inputs[1], p);
  return {{split_dimension(result, p.out_spec[0], call.axis.size)}, {p.out_spec[0]}};
}

BatchResults batch_rhs(const BatchCall& call, const ConvParams& p) {
  const int64_t groups = p.feature_group_count * p.batch_group_count;
  const Array rhs = merge_below_groups(call.inputs[1], call.axes[1], p.rhs_spec[0], groups);
  const Array result = lax::conv_general_dilated(call.inputs[0], rhs, p);
  const int64_t features = p.out_spec[1];
  const Array apart =
      split_dimension(split_dimension(result, features, groups), features + 1, call.axis.size);
  return {{merge_dimension(apart, features, features + 1)}, {features}};
}

BatchResults conv_batch(const BatchCall& call) {
  const auto& p = params_as<ConvParams>(call.params.get());
  if (call.is_batched(0) && call.is_batched(1)) return batch_both(call, p);
  return call.is_batched(0) ? batch_lhs(call, p) : batch_rhs(call, p);
}

const TransformRules kConvRules = {
    .jvp = conv_jvp, .transpose = conv_transpose, .batch = conv_batch};
const Primitive kConv = {.name = "conv_general_dilated",
                         .type_rule = conv_rule,
                         .parse = parse_params<ConvParams>,
                         .flops = conv_flops,
                         .rules = &kConvRules};
FARCALL_REGISTER_PRIMITIVE(kConv);

ConvParams with_defaults(ConvParams params, size_t rank) {
  for (Indices* spec : {&params.lhs_spec, &params.rhs_spec, &params.out_spec}) {
    if (spec->empty()) *spec = all_dimensions(rank);
  }
  for (Indices* sizes : {&params.window_strides, &params.lhs_dilation, &params.rhs_dilation}) {
    if (sizes->empty()) sizes->assign(num_spatial(rank), 1);
  }
  if (params.padding.empty()) params.padding.resize(num_spatial(rank));
  return params;
}

}  // namespace

namespace lax {

Array conv_general_dilated(const Array& lhs, const Array& rhs, ConvParams params) {
  const Array operands[] = {lhs, rhs};
  if (!params.precision) params.precision = default_precision();
  return bind_one(kConv, make_params(with_defaults(std::move(params), lhs.rank())), operands);
}

Shape conv_general_dilated_shape(ListOf<int64_t> lhs_shape, ListOf<int64_t> rhs_shape,
                                 ConvParams params) {
  const auto known = make_params(with_defaults(std::move(params), lhs_shape.size()));
  const ShapeDtype types[] = {{DType::kFloat32, lhs_shape}, {DType::kFloat32, rhs_shape}};
  return to_shape(infer_types(kConv, types, known.get())[0].shape());
}

}  // namespace lax
}  // namespace farcall
