// What transformations know of the elementwise primitives of elementwise_list.h.
#pragma once

#include <cstddef>

#include <farcall/trace/rules.h>

namespace farcall {

// Of the primitive in this row of the list.
const TransformRules& elementwise_rules(size_t row);

}  // namespace farcall
