// Cumulative operations along one dimension.
#include <farcall/primitives/cumulative.h>

#include <fmt/format.h>

#include <farcall/ops/cumulative.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/special_cases.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/rules.h>

#include "ops/internal/register.h"
#include "ops/internal/rules.h"
#include "ops/internal/type_rules.h"

namespace farcall {
namespace {

template <bool (*accepts)(DType)>
std::vector<ShapeDtype> cumulative_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 1);
  if (!accepts(inputs[0].dtype())) {
    type_error(fmt::format("is not defined for {}", inputs[0].to_string()));
  }
  const int64_t axis = params_as<CumulativeParams>(params).axis;
  if (axis < 0 || axis >= static_cast<int64_t>(inputs[0].rank())) {
    type_error(fmt::format("axis {} does not lie in {}", axis, inputs[0].to_string()));
  }
  return {inputs[0]};
}

Array run_along(const Primitive& primitive, const Array& x, int64_t axis, bool reverse) {
  return bind_one(primitive, make_params(CumulativeParams{axis, reverse}), {&x, 1});
}

// ---- derivatives

using Combine = Array (*)(const Array&, const Array&);

// Elements start, start + stride, … below `limit` along one dimension.
Array pick(const Array& x, int64_t axis, int64_t start, int64_t limit, int64_t stride = 1) {
  std::vector<int64_t> starts(x.rank(), 0), strides(x.rank(), 1);
  std::vector<int64_t> limits(x.shape().begin(), x.shape().end());
  starts[axis] = start;
  limits[axis] = limit;
  strides[axis] = stride;
  return lax::slice(x, starts, limits, strides);
}

// x0 y0 x1 y1 …; the arrays have one size.
Array interleaved(const Array& x, const Array& y, int64_t axis) {
  Shape apart(x.shape().begin(), x.shape().end());
  Shape joined = apart;
  joined[axis] *= 2;
  apart.insert(apart.begin() + axis + 1, 1);
  const Array parts[] = {lax::reshape(x, apart), lax::reshape(y, apart)};
  return lax::reshape(lax::concatenate(parts, axis + 1), joined);
}

// The algorithm of G. Blelloch, Prefix sums and their applications, 1990. Combines each pair of
// neighbours. A recursive call scans the results, which are the odd elements of the whole scan.
// Each even element combines the odd one before it with its own operand. This takes O(size)
// operations in O(log(size)) steps.
Array scan_pairs(Combine combine, const Array& x, int64_t axis) {
  const int64_t size = x.shape()[axis];
  if (size < 2) return x;
  const Array odd =
      scan_pairs(combine, combine(pick(x, axis, 0, size - 1, 2), pick(x, axis, 1, size, 2)), axis);
  const Array first = pick(x, axis, 0, 1);
  const int64_t num_odd = size / 2, num_even = size - num_odd;
  if (num_even == 1) return interleaved(first, odd, axis);
  const Array before = pick(odd, axis, 0, num_even - 1);
  const Array parts[] = {first, combine(before, pick(x, axis, 2, size, 2))};
  const Array even = lax::concatenate(parts, axis);
  if (num_even == num_odd) return interleaved(even, odd, axis);
  const Array pieces[] = {interleaved(pick(even, axis, 0, num_odd), odd, axis),
                          pick(even, axis, num_odd, num_even)};
  return lax::concatenate(pieces, axis);
}

template <Combine combine>
JvpResults jvp_by_pairs(const JvpCall& call) {
  const auto& p = params_as<CumulativeParams>(call.params.get());
  const FlatFunction function = [&](std::span<const Array> inputs) -> std::vector<Array> {
    if (!p.reverse) return {scan_pairs(combine, inputs[0], p.axis)};
    const Array turned = lax::rev(inputs[0], {&p.axis, 1});
    return {lax::rev(scan_pairs(combine, turned, p.axis), {&p.axis, 1})};
  };
  const JvpResults results = jvp(function, call.primals, call.tangents);
  return {bind_primitive(call.primitive, call.params, call.primals), results.tangents};
}

// The transpose of a cumulative sum is a cumulative sum in the other direction.
std::vector<Array> cumsum_transpose(const TransposeCall& call) {
  const auto& p = params_as<CumulativeParams>(call.params.get());
  return {lax::cumsum(call.cotangents[0], p.axis, !p.reverse)};
}

BatchResults cumulative_batch(const BatchCall& call) {
  auto p = params_as<CumulativeParams>(call.params.get());
  p.axis += p.axis >= call.axes[0];
  return {bind_primitive(call.primitive, make_params(p), call.inputs), {call.axes[0]}};
}

const TransformRules kCumsumRules = {
    .jvp = linear_jvp, .transpose = cumsum_transpose, .batch = cumulative_batch};
template <Combine combine>
const TransformRules kPairRules = {.jvp = jvp_by_pairs<combine>, .batch = cumulative_batch};

Primitive cumulative_primitive(std::string_view name, decltype(Primitive::type_rule) rule,
                               const TransformRules& rules) {
  return {
      .name = name, .type_rule = rule, .parse = parse_params<CumulativeParams>, .rules = &rules};
}

const Primitive kCumsum = cumulative_primitive("cumsum", cumulative_rule<is_number>, kCumsumRules);
FARCALL_REGISTER_PRIMITIVE(kCumsum);
const Primitive kCumprod =
    cumulative_primitive("cumprod", cumulative_rule<is_number>, kPairRules<lax::mul>);
FARCALL_REGISTER_PRIMITIVE(kCumprod);
const Primitive kCummax =
    cumulative_primitive("cummax", cumulative_rule<is_ordered>, kPairRules<lax::max>);
FARCALL_REGISTER_PRIMITIVE(kCummax);
const Primitive kCummin =
    cumulative_primitive("cummin", cumulative_rule<is_ordered>, kPairRules<lax::min>);
FARCALL_REGISTER_PRIMITIVE(kCummin);
const Primitive kCumlogsumexp = cumulative_primitive("cumlogsumexp", cumulative_rule<is_floating>,
                                                     kPairRules<numpy::logaddexp>);
FARCALL_REGISTER_PRIMITIVE(kCumlogsumexp);

}  // namespace

namespace lax {

Array cumsum(const Array& x, int64_t axis, bool reverse) {
  return run_along(kCumsum, x, axis, reverse);
}
Array cumprod(const Array& x, int64_t axis, bool reverse) {
  return run_along(kCumprod, x, axis, reverse);
}
Array cummax(const Array& x, int64_t axis, bool reverse) {
  return run_along(kCummax, x, axis, reverse);
}
Array cummin(const Array& x, int64_t axis, bool reverse) {
  return run_along(kCummin, x, axis, reverse);
}
Array cumlogsumexp(const Array& x, int64_t axis, bool reverse) {
  return run_along(kCumlogsumexp, x, axis, reverse);
}

}  // namespace lax
}  // namespace farcall
