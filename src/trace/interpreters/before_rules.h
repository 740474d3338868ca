// Checks before the rule of a transformation runs.
#pragma once

#include <span>
#include <string_view>

#include <farcall/program/primitive.h>
#include <farcall/trace/array.h>

namespace farcall {

// "sort: has no derivative rule (jvp); ..."
[[noreturn]] void missing_rule(const Primitive& primitive, std::string_view rule,
                               std::string_view remedy);

// Checks operands and parameters, so that rules may rely on them. Raises what the type rule raises.
void check_operands(const Primitive& primitive, const Params* params,
                    std::span<const Array> inputs);

}  // namespace farcall
