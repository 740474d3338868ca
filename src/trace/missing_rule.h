// The error for a rule that a primitive does not have.
#pragma once

#include <string>
#include <string_view>

#include <farcall/program/primitive.h>

namespace farcall {

// "sort: has no derivative rule (jvp); ..."
[[noreturn]] void missing_rule(const Primitive& primitive, std::string_view rule,
                               std::string_view remedy);

}  // namespace farcall
