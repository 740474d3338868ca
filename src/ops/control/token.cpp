// Tokens: values without elements that define the order of effects.
#include <farcall/ops/lax.h>
#include <farcall/trace/interpreter.h>

#include "ops/internal/register.h"
#include "ops/internal/type_rules.h"

namespace farcall {
namespace {

std::vector<ShapeDtype> token_rule(std::span<const ShapeDtype> inputs, const Params*) {
  check_operand_count(inputs, 0);
  return {ShapeDtype(DType::kToken, {})};
}

const Primitive kCreateToken = {.name = "create_token", .type_rule = token_rule};
FARCALL_REGISTER_PRIMITIVE(kCreateToken);

}  // namespace

namespace lax {

Array create_token() { return bind_one(kCreateToken, nullptr, {}); }

}  // namespace lax
}  // namespace farcall
