// The transformation rules of the scatter primitives.
#pragma once

#include <farcall/trace/rules.h>

namespace farcall::indexing {

// For scatter: updates that are overwritten by others do not contribute.
JvpResults scatter_jvp(const JvpCall& call);
// scatter_add is linear in the operand and the updates.
JvpResults scatter_add_jvp(const JvpCall& call);
// The derivative with respect to the updates needs unique indices.
JvpResults scatter_mul_jvp(const JvpCall& call);
// Where the result equals the operand or some of the updates, these share the derivative equally.
JvpResults scatter_extreme_jvp(const JvpCall& call);

std::vector<Array> scatter_transpose(const TransposeCall& call);
std::vector<Array> scatter_add_transpose(const TransposeCall& call);
std::vector<Array> scatter_mul_transpose(const TransposeCall& call);

BatchResults scatter_batch(const BatchCall& call);

}  // namespace farcall::indexing
