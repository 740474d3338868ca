// What transformations know of the elementwise primitives of elementwise_list.h.
#pragma once

#include <string_view>

#include <farcall/trace/rules.h>

namespace farcall {

// Raises INTERNAL for a primitive that has no row in the table.
const TransformRules* elementwise_rules(std::string_view primitive);

}  // namespace farcall
