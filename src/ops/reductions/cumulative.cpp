// Cumulative operations along one dimension.
#include <farcall/primitives/cumulative.h>

#include <fmt/format.h>

#include <farcall/ops/control_flow.h>
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
    invalid_argument(fmt::format("is not defined for {}", inputs[0].to_string()));
  }
  const int64_t axis = params_as<CumulativeParams>(params).axis;
  if (axis < 0 || axis >= static_cast<int64_t>(inputs[0].rank())) {
    invalid_argument(fmt::format("axis {} does not lie in {}", axis, inputs[0].to_string()));
  }
  return {inputs[0]};
}

Array run_along(const Primitive& primitive, const Array& x, int64_t axis, bool reverse) {
  return bind_one(primitive, make_params(CumulativeParams{axis, reverse}), {&x, 1});
}

// Complex numbers have no loop of their own: pairs are combined.
template <Array (*combine)(const Array&, const Array&)>
Array run_or_combine(const Primitive& primitive, const Array& x, int64_t axis, bool reverse) {
  if (!is_complex(x.dtype())) return run_along(primitive, x, axis, reverse);
  const auto pairs = [](std::span<const Array> a, std::span<const Array> b) {
    return std::vector<Array>{combine(a[0], b[0])};
  };
  return lax::associative_scan(pairs, {&x, 1}, reverse, axis)[0];
}

// ---- derivatives

// The derivative of the same result, computed from pairs in O(size) operations.
template <Array (*combine)(const Array&, const Array&)>
JvpResults jvp_by_pairs(const JvpCall& call) {
  const auto& p = params_as<CumulativeParams>(call.params.get());
  const auto pairs = [](std::span<const Array> a, std::span<const Array> b) {
    return std::vector<Array>{combine(a[0], b[0])};
  };
  const FlatFunction function = [&](std::span<const Array> inputs) {
    return lax::associative_scan(pairs, inputs, p.reverse, p.axis);
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
template <Array (*combine)(const Array&, const Array&)>
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
  return run_or_combine<lax::max>(kCummax, x, axis, reverse);
}
Array cummin(const Array& x, int64_t axis, bool reverse) {
  return run_or_combine<lax::min>(kCummin, x, axis, reverse);
}
Array cumlogsumexp(const Array& x, int64_t axis, bool reverse) {
  return run_or_combine<numpy::logaddexp>(kCumlogsumexp, x, axis, reverse);
}

}  // namespace lax
}  // namespace farcall
