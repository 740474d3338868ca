// Transformation rules of the elementwise primitives in elementwise_list.h.
#pragma once

#include <cstddef>

#include <farcall/trace/rules.h>

namespace farcall {

// The rules of the primitive in this row of the list.
const TransformRules& elementwise_rules(size_t row);

}  // namespace farcall
