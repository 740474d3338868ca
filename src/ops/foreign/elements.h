// Derivatives of foreign calls on whole batches. Rules apply to the call on one element, and are
// mapped over the batch.
#pragma once

#include <vector>

#include <farcall/trace/rules.h>

namespace farcall {

// The rules of ffi_call for parameters with batched_operands.
JvpResults jvp_by_elements(const JvpCall& call);
std::vector<Array> transpose_by_elements(const TransposeCall& call);

}  // namespace farcall
