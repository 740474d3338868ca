// dot_general: the product of two arrays, contracted over chosen dimensions.
#include <farcall/primitives/dot_general.h>

#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/layout.h>
#include <farcall/core/precision.h>
#include <farcall/core/sizes.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/promotion.h>
#include <farcall/trace/interpreter.h>

#include "ops/internal/register.h"
#include "ops/internal/rules.h"
#include "ops/internal/type_rules.h"

namespace farcall {
namespace {

void check_dimensions(ShapeDtype lhs, ShapeDtype rhs, std::span<const int64_t> left,
                      std::span<const int64_t> right, std::string_view what) {
  if (left.size() != right.size()) {
    invalid_argument(fmt::format("{} dimensions {} and {} differ in number", what,
                                 shape_to_string(left), shape_to_string(right)));
  }
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i] < 0 || left[i] >= static_cast<int64_t>(lhs.rank()) || right[i] < 0 ||
        right[i] >= static_cast<int64_t>(rhs.rank())) {
      invalid_argument(fmt::format("{} dimensions {} of {} and {} of {} are out of range", what,
                                   left[i], lhs.to_string(), right[i], rhs.to_string()));
    }
    if (lhs.shape()[left[i]] != rhs.shape()[right[i]]) {
      invalid_argument(
          fmt::format("{} dimensions must agree in size: dimension {} of {} is {}, dimension "
                      "{} of {} is {}",
                      what, left[i], lhs.to_string(), lhs.shape()[left[i]], right[i],
                      rhs.to_string(), rhs.shape()[right[i]]));
    }
  }
}

// Marks the dimensions in `a` and `b`. Raises for a dimension that is named twice.
std::vector<bool> used(size_t rank, std::span<const int64_t> a, std::span<const int64_t> b) {
  std::vector<bool> marks(rank, false);
  for (const auto dimensions : {a, b}) {
    for (const int64_t dimension : dimensions) {
      if (marks[dimension]) invalid_argument(fmt::format("dimension {} is named twice", dimension));
      marks[dimension] = true;
    }
  }
  return marks;
}

std::vector<ShapeDtype> dot_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 2);
  const auto& p = params_as<DotGeneralParams>(params);
  const ShapeDtype lhs = inputs[0], rhs = inputs[1];
  check_dimensions(lhs, rhs, p.lhs_contracting, p.rhs_contracting, "contracting");
  check_dimensions(lhs, rhs, p.lhs_batch, p.rhs_batch, "batch");
  Shape shape;
  for (const int64_t dimension : p.lhs_batch) shape.push_back(lhs.shape()[dimension]);
  const auto lhs_used = used(lhs.rank(), p.lhs_contracting, p.lhs_batch);
  const auto rhs_used = used(rhs.rank(), p.rhs_contracting, p.rhs_batch);
  for (size_t i = 0; i < lhs.rank(); ++i) {
    if (!lhs_used[i]) shape.push_back(lhs.shape()[i]);
  }
  for (size_t i = 0; i < rhs.rank(); ++i) {
    if (!rhs_used[i]) shape.push_back(rhs.shape()[i]);
  }
  const ShapeDtype type = common_dtype(inputs, shape);
  if (type.is_token() || is_key(type.dtype())) {
    invalid_argument(fmt::format("is not defined for {}", types_to_string(inputs)));
  }
  return {type};
}

int64_t dot_flops(std::span<const ShapeDtype> inputs, std::span<const ShapeDtype> outputs,
                  const Params* params) {
  int64_t contracted = 1;
  for (const int64_t dimension : params_as<DotGeneralParams>(params).lhs_contracting) {
    contracted = saturated_product(contracted, inputs[0].shape()[dimension]);
  }
  return saturated_product(saturated_product(2, outputs[0].size()), contracted);
}

// ---- transformation rules

// The dimensions of one operand that are kept in the result.
std::vector<int64_t> kept(size_t rank, std::span<const int64_t> contracting,
                          std::span<const int64_t> batch) {
  const std::vector<bool> marks = used(rank, contracting, batch);
  std::vector<int64_t> dimensions;
  for (const int64_t i : all_dimensions(rank)) {
    if (!marks[i]) dimensions.push_back(i);
  }
  return dimensions;
}

JvpResults dot_jvp(const JvpCall& call) {
  const Array &x = call.primals[0], &y = call.primals[1];
  const auto apply = [&](const Array& a, const Array& b) {
    if (a.is_null() || b.is_null()) return Array();
    const Array operands[] = {a, b};
    return bind_one(call.primitive, call.params, operands);
  };
  return with_tangent(apply(x, y), {apply(call.tangents[0], y), apply(x, call.tangents[1])});
}

// One operand's dimensions in the product.
struct Side {
  std::span<const int64_t> contracting, batch;
  size_t rank;
  std::vector<int64_t> kept() const { return farcall::kept(rank, contracting, batch); }
};

// The cotangent of the operand `linear`, given the cotangent of the result. `position`: the
// result's first dimension that comes from the other operand's kept dimensions.
Array dot_cotangent(const Array& cotangent, const Array& other_value, const Side& linear,
                    const Side& other, size_t position,
                    std::optional<OperandPrecisions> precision) {
  const PrecisionScope scope(precision);
  const std::vector<int64_t> batch = all_dimensions(linear.batch.size());
  const std::vector<int64_t> other_kept = other.kept();
  std::vector<int64_t> contracting = all_dimensions(other_kept.size());
  for (int64_t& dimension : contracting) dimension += static_cast<int64_t>(position);
  const Array product = lax::dot_general(cotangent, other_value, contracting, other_kept, batch,
                                         to_shape(other.batch));
  // The dimensions of the product are those of `linear` in this order: batch, kept, contracted; the
  // contracted ones are in the other operand's order.
  std::vector<int64_t> order(linear.batch.begin(), linear.batch.end());
  std::ranges::copy(linear.kept(), std::back_inserter(order));
  std::vector<int64_t> pairs = all_dimensions(linear.contracting.size());
  std::ranges::sort(pairs, {}, [&](int64_t i) { return other.contracting[i]; });
  for (const int64_t i : pairs) order.push_back(linear.contracting[i]);
  return lax::transpose(product, inverse_permutation(order));
}

std::vector<Array> dot_transpose(const TransposeCall& call) {
  if (call.is_linear(0) && call.is_linear(1)) not_linear(call.primitive);
  const auto& p = params_as<DotGeneralParams>(call.params.get());
  const Side left{p.lhs_contracting, p.lhs_batch, call.types[0].rank()};
  const Side right{p.rhs_contracting, p.rhs_batch, call.types[1].rank()};
  const Array& cotangent = call.cotangents[0];
  const size_t num_batch = p.lhs_batch.size();
  if (call.is_linear(0)) {
    return {dot_cotangent(cotangent, call.inputs[1], left, right, num_batch + left.kept().size(),
                          p.precision),
            Array()};
  }
  return {Array(), dot_cotangent(cotangent, call.inputs[0], right, left, num_batch, p.precision)};
}

// The new dimension is a batch dimension if both operands have it, and a kept dimension if one has
// it.
BatchResults dot_batch(const BatchCall& call) {
  DotGeneralParams p = params_as<DotGeneralParams>(call.params.get());
  const auto make_room = [&](size_t i, std::vector<int64_t>& contracting,
                             std::vector<int64_t>& batch) {
    if (!call.is_batched(i)) return;
    contracting = past_batch(contracting, call.axes[i]);
    batch = past_batch(batch, call.axes[i]);
  };
  make_room(0, p.lhs_contracting, p.lhs_batch);
  make_room(1, p.rhs_contracting, p.rhs_batch);
  const auto place_among_kept = [&](size_t i, const std::vector<int64_t>& contracting,
                                    const std::vector<int64_t>& batch) {
    const auto dimensions = kept(call.inputs[i].rank(), contracting, batch);
    return std::ranges::find(dimensions, call.axes[i]) - dimensions.begin();
  };
  int64_t axis = 0;
  if (call.is_batched(0) && call.is_batched(1)) {
    p.lhs_batch.insert(p.lhs_batch.begin(), call.axes[0]);
    p.rhs_batch.insert(p.rhs_batch.begin(), call.axes[1]);
  } else if (call.is_batched(0)) {
    axis = static_cast<int64_t>(p.lhs_batch.size()) +
           place_among_kept(0, p.lhs_contracting, p.lhs_batch);
  } else {
    axis = static_cast<int64_t>(call.inputs[0].rank() - p.lhs_contracting.size()) +
           place_among_kept(1, p.rhs_contracting, p.rhs_batch);
  }
  return {{bind_one(call.primitive, make_params(std::move(p)), call.inputs)}, {axis}};
}

const TransformRules kDotRules = {.jvp = dot_jvp, .transpose = dot_transpose, .batch = dot_batch};

const Primitive kDotGeneral = {.name = "dot_general",
                               .type_rule = dot_rule,
                               .parse = parse_params<DotGeneralParams>,
                               .flops = dot_flops,
                               .rules = &kDotRules,
                               .kind = PrimitiveKind::kProduct};
FARCALL_REGISTER_PRIMITIVE(kDotGeneral);

}  // namespace

namespace lax {

Array dot_general(const Array& lhs, const Array& rhs, ListOf<int64_t> lhs_contracting,
                  ListOf<int64_t> rhs_contracting, ListOf<int64_t> lhs_batch,
                  ListOf<int64_t> rhs_batch, std::optional<DType> preferred_element_type) {
  const auto copy = [](std::span<const int64_t> v) {
    return std::vector<int64_t>(v.begin(), v.end());
  };
  const auto operand = [&](const Array& x) {
    return preferred_element_type ? widened(x, *preferred_element_type) : x;
  };
  Array operands[] = {operand(lhs), operand(rhs)};
  if (operands[0].dtype() != operands[1].dtype()) {
    const ShapeDtype types[] = {operands[0].type(), operands[1].type()};
    const DType dtype = promote_types(types).dtype;
    for (Array& each : operands) each = convert_element_type(each, dtype);
  }
  const Array product =
      bind_one(kDotGeneral,
               make_params(DotGeneralParams{copy(lhs_contracting), copy(rhs_contracting),
                                            copy(lhs_batch), copy(rhs_batch), default_precision()}),
               operands);
  const DType dtype = preferred_element_type.value_or(product.dtype());
  return product.dtype() == dtype ? product : convert_element_type(product, dtype);
}

}  // namespace lax
}  // namespace farcall
