// select_n and clamp.
#include <vector>

#include <fmt/format.h>

#include <farcall/ops/lax.h>
#include <farcall/trace/interpreter.h>

#include "ops/register.h"
#include "ops/type_rules.h"

namespace farcall {
namespace {

std::vector<ShapeDtype> select_rule(std::span<const ShapeDtype> inputs, const Params*) {
  if (inputs.size() < 2) type_error("expected a selector and at least one case");
  const ShapeDtype which = inputs[0];
  const auto cases = inputs.subspan(1);
  if (which.dtype() != DType::kBool && which.dtype() != DType::kInt32) {
    type_error(fmt::format("the selector must be bool or i32, got {}", which.to_string()));
  }
  if (which.dtype() == DType::kBool && cases.size() != 2) {
    type_error(fmt::format("a bool selects among two cases, got {}", cases.size()));
  }
  const auto shape = elementwise_shape(inputs);
  const ShapeDtype type = common_dtype(cases, shape);
  if (type.is_token()) type_error("tokens cannot be selected");
  return {type};
}

std::vector<ShapeDtype> clamp_rule(std::span<const ShapeDtype> inputs, const Params*) {
  check_operand_count(inputs, 3);
  const ShapeDtype type = common_dtype(inputs, elementwise_shape(inputs));
  if (is_complex(type.dtype()) || type.is_token()) {
    type_error(fmt::format("takes ordered numbers; got {}", describe(inputs)));
  }
  return {type};
}

const Primitive kSelect = {.name = "select_n", .type_rule = select_rule};
FARCALL_REGISTER_PRIMITIVE(kSelect);
const Primitive kClamp = {.name = "clamp", .type_rule = clamp_rule};
FARCALL_REGISTER_PRIMITIVE(kClamp);

}  // namespace

namespace lax {

Array select_n(const Array& which, std::span<const Array> cases) {
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
