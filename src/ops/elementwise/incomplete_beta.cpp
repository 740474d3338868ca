// regularized_incomplete_beta.
#include <array>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/interpreter.h>

#include "ops/internal/register.h"
#include "ops/internal/rules.h"
#include "ops/internal/type_rules.h"

namespace farcall {
namespace {

std::vector<ShapeDtype> type_of_result(std::span<const ShapeDtype> inputs, const Params*) {
  check_operand_count(inputs, 3);
  const ShapeDtype type = common_dtype(inputs, elementwise_shape(inputs));
  if (!is_floating(type.dtype())) {
    invalid_argument(fmt::format("takes floats; got {}", types_to_string(inputs)));
  }
  return {type};
}

// x^(a - 1) (1 - x)^(b - 1) / B(a, b)
Array density(const Array& a, const Array& b, const Array& x) {
  using namespace lax;
  const Array one = scalar_of(x.dtype(), 1);
  const auto [from_below, at_zero] = power_in_parts(x, sub(a, one));
  // The same for 1 - x, whose logarithm is more accurate as log1p(-x).
  const Array is_one = eq(x, one);
  const Array ones = broadcast_scalar(one, x.shape());
  const Array zeros = broadcast_scalar(scalar_of(x.dtype(), 0), x.shape());
  const Array inside = select_n(is_one, std::array{x, zeros});
  const Array from_above = mul(sub(b, one), log1p(neg(inside)));
  const Array at_one = pow(select_n(is_one, std::array{ones, sub(one, x)}), sub(b, one));
  const Array factor = sub(lgamma(add(a, b)), add(lgamma(a), lgamma(b)));
  return mul(mul(at_zero, at_one), exp(add(add(from_below, from_above), factor)));
}

JvpResults beta_jvp(const JvpCall& call) {
  if (!call.tangents[0].is_null() || !call.tangents[1].is_null()) {
    throw Error(ErrorCode::kUnimplemented,
                "regularized_incomplete_beta: has no derivative with respect to a and b");
  }
  const Array slope = density(call.primals[0], call.primals[1], call.primals[2]);
  return with_tangent(bind_one(call.primitive, call.params, call.primals),
                      {lax::mul(call.tangents[2], slope)});
}

const TransformRules kBetaRules = {.jvp = beta_jvp, .batch = batch_elementwise};
const Primitive kBeta = {
    .name = "regularized_incomplete_beta", .type_rule = type_of_result, .rules = &kBetaRules};
FARCALL_REGISTER_PRIMITIVE(kBeta);

}  // namespace

namespace lax {

Array betainc(const Array& a, const Array& b, const Array& x) {
  const Array operands[] = {a, b, x};
  return bind_one(kBeta, nullptr, operands);
}

}  // namespace lax
}  // namespace farcall
