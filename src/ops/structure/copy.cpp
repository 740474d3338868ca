// Primitives that return their operand: copy and stop_gradient.
#include <farcall/ops/lax.h>
#include <farcall/trace/interpreter.h>

#include "ops/internal/register.h"
#include "ops/internal/rules.h"
#include "ops/internal/type_rules.h"

namespace farcall {
namespace {

std::vector<ShapeDtype> same_type(std::span<const ShapeDtype> inputs, const Params*) {
  check_operand_count(inputs, 1);
  if (inputs[0].is_token()) invalid_argument("a token has no elements");
  return {inputs[0]};
}

const TransformRules kCopyRules = {
    .jvp = linear_jvp, .transpose = self_transpose, .batch = batch_elementwise};
const TransformRules kStopRules = {.jvp = zero_jvp, .batch = batch_elementwise};

const Primitive kCopy = {
    .name = "copy", .type_rule = same_type, .flops = no_flops, .rules = &kCopyRules};
FARCALL_REGISTER_PRIMITIVE(kCopy);
const Primitive kStopGradient = {
    .name = "stop_gradient", .type_rule = same_type, .flops = no_flops, .rules = &kStopRules};
FARCALL_REGISTER_PRIMITIVE(kStopGradient);

}  // namespace

namespace lax {

Array copy(const Array& x) { return bind_one(kCopy, nullptr, {&x, 1}); }

Array stop_gradient(const Array& x) {
  return has_tangent(x.type()) ? bind_one(kStopGradient, nullptr, {&x, 1}) : x;
}

}  // namespace lax
}  // namespace farcall
