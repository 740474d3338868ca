// Loops as instructions. Arrays of a few elements are kept in registers: each element in one of its
// own, which slices and stacks only name anew, or, where all arrays of the loop have one size,
// several in one register.
#pragma once

#include <farcall/primitives/control_flow.h>

#include "engine/native/jit/elementwise.h"
#include "engine/native/jit/ir.h"

namespace farcall::native::jit {

// Pointers of the code, in order: constants, initial carry and the first slices of the arrays; then
// where the last carry goes, and the first slices of the results. The count is that of the steps.
Code lower_scan(const ScanParams& scan);

// Pointers: the constants of the condition, those of the body, the initial carry; then where the
// last carry goes. The count is given back.
Code lower_while(const WhileParams& loop);

// Both raise Refusal where the loop has to be left to kernels.

}  // namespace farcall::native::jit
