// The rules of the scatter primitives, apart from their type rule and their registration.
#pragma once

#include <farcall/trace/rules.h>

namespace farcall::indexing {

// Replacing: the updates that another one overwrites have no part in the result.
JvpResults scatter_jvp(const JvpCall& call);
// Adding is linear in the operand and in the updates.
JvpResults scatter_add_jvp(const JvpCall& call);
// With respect to the updates only where no two windows overlap.
JvpResults scatter_mul_jvp(const JvpCall& call);
// Values that are equal share the derivative.
JvpResults scatter_extreme_jvp(const JvpCall& call);

std::vector<Array> scatter_transpose(const TransposeCall& call);
std::vector<Array> scatter_add_transpose(const TransposeCall& call);
std::vector<Array> scatter_mul_transpose(const TransposeCall& call);

BatchResults scatter_batch(const BatchCall& call);

}  // namespace farcall::indexing
