// What transformations and exporters know of the elementwise primitives of elementwise_list.h.
#pragma once

#include <string_view>

#include <farcall/trace/rules.h>

namespace farcall {

struct ElementwiseRules {
  std::string_view stablehlo;  // empty where it takes more than one operation
  const TransformRules* rules;
};
// Raises INTERNAL for a primitive that has no row in the table.
ElementwiseRules elementwise_rules(std::string_view primitive);

}  // namespace farcall
