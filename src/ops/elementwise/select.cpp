// select_n and clamp.
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/ops/lax.h>
#include <farcall/trace/interpreter.h>

#include "ops/internal/register.h"
#include "ops/internal/rules.h"
#include "ops/internal/type_rules.h"

namespace farcall {
namespace {

std::vector<ShapeDtype> select_rule(std::span<const ShapeDtype> inputs, const Params*) {
  if (inputs.size() < 2) invalid_argument("expected a selector and at least one case");
  const ShapeDtype which = inputs[0];
  const auto cases = inputs.subspan(1);
  if (which.dtype() != DType::kBool && which.dtype() != DType::kInt32) {
    invalid_argument(fmt::format("the selector must be bool or i32, got {}", which.to_string()));
  }
  if (which.dtype() == DType::kBool && cases.size() != 2) {
    invalid_argument(fmt::format("a bool selects among two cases, got {}", cases.size()));
  }
  const auto shape = elementwise_shape(inputs);
  const ShapeDtype type = common_dtype(cases, shape);
  if (type.is_token()) invalid_argument("tokens cannot be selected");
  return {type};
}

std::vector<ShapeDtype> clamp_rule(std::span<const ShapeDtype> inputs, const Params*) {
  check_operand_count(inputs, 3);
  const ShapeDtype type = common_dtype(inputs, elementwise_shape(inputs));
  if (is_complex(type.dtype()) || type.is_token() || is_key(type.dtype())) {
    invalid_argument(fmt::format("takes ordered numbers; got {}", types_to_string(inputs)));
  }
  return {type};
}

// ---- transformation rules

JvpResults select_jvp(const JvpCall& call) {
  const Array result = bind_one(call.primitive, call.params, call.primals);
  std::vector<Array> cases(call.tangents.begin() + 1, call.tangents.end());
  for (Array& tangent : cases) {
    if (tangent.is_null()) tangent = scalar_of(result.dtype(), 0);
  }
  return with_tangent(result, {lax::select_n(call.primals[0], cases)});
}

std::vector<Array> select_transpose(const TransposeCall& call) {
  const Array& cotangent = call.cotangents[0];
  const size_t num_cases = call.types.size() - 1;
  std::vector<Array> found(1 + num_cases);
  std::vector<Array> cases(num_cases, scalar_of(cotangent.dtype(), 0));
  for (size_t i = 0; i < num_cases; ++i) {
    if (!call.is_linear(1 + i)) continue;
    const Array zero = std::exchange(cases[i], cotangent);
    found[1 + i] = unbroadcast(lax::select_n(call.inputs[0], cases), call.types[1 + i]);
    cases[i] = zero;
  }
  return found;
}

// For low < high: the tangent of x where x is strictly between the bounds, of a bound where x is
// strictly beyond it, 0 where x equals a bound.
JvpResults clamp_jvp(const JvpCall& call) {
  const Array &low = call.primals[0], &x = call.primals[1], &high = call.primals[2];
  const Array result = bind_one(call.primitive, call.params, call.primals);
  const Array zero = scalar_of(x.dtype(), 0);
  const auto term = [&](size_t i, auto condition) {
    const Array& tangent = call.tangents[i];
    if (tangent.is_null()) return Array();
    return lax::select_n(condition(), std::array{zero, tangent});
  };
  using namespace lax;
  return with_tangent(result, {term(0, [&] { return bitwise_and(gt(low, x), lt(low, high)); }),
                               term(1, [&] { return bitwise_and(gt(x, low), lt(x, high)); }),
                               term(2, [&] { return lt(high, x); })});
}

const TransformRules kSelectRules = {
    .jvp = select_jvp, .transpose = select_transpose, .batch = batch_elementwise};
const TransformRules kClampRules = {.jvp = clamp_jvp, .batch = batch_elementwise};

const Primitive kSelect = {.name = "select_n", .type_rule = select_rule, .rules = &kSelectRules};
FARCALL_REGISTER_PRIMITIVE(kSelect);
const Primitive kClamp = {.name = "clamp", .type_rule = clamp_rule, .rules = &kClampRules};
FARCALL_REGISTER_PRIMITIVE(kClamp);

}  // namespace

namespace lax {

Array select_n(const Array& which, ListOf<Array> cases) {
  std::vector<Array> operands{which};
  operands.insert(operands.end(), cases.begin(), cases.end());
  return bind_one(kSelect, nullptr, operands);
}

Array clamp(const Array& low, const Array& x, const Array& high) {
  const Array operands[] = {low, x, high};
  return bind_one(kClamp, nullptr, operands);
}

}  // namespace lax
}  // namespace farcall
