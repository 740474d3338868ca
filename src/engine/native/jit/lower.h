// Translates loops to instructions. Arrays of a few elements are kept in registers: one register
// for each element, so that slices and stacks cost nothing, or, if all arrays of the loop have the
// same size, several elements in a register.
#pragma once

#include <farcall/primitives/control_flow.h>

#include "engine/native/jit/elementwise.h"
#include "engine/native/jit/ir.h"

namespace farcall::native::jit {

// Pointers of the code, in order: constants, initial carry, the first slices of the arrays; then
// the destinations of the last carry and of the first slices of the results. The count is the
// number of steps.
Code lower_scan(const ScanParams& scan);

// Pointers: the constants of the condition, those of the body, the initial carry; then the
// destination of the last carry. The count is returned.
Code lower_while(const WhileParams& loop);

// Both raise Refusal if the loop must be run by kernels.

}  // namespace farcall::native::jit
