// Collectives that do not depend on each other become one, because devices wait for each other in
// each.
#pragma once

#include <span>
#include <vector>

#include <farcall/program/program.h>

#include "stablehlo/emitter.h"

namespace farcall::stablehlo {

// Equations in an order that keeps their dependences; those in one step are written together.
using Steps = std::vector<std::vector<const Equation*>>;

// `joins`: whether to write collectives together. A program with effects keeps its order.
Steps steps_of(const Program& program, bool joins);

// The result of each collective of a step of at least two. None if one operation cannot do it.
Values joint_collectives(Emitter& emitter, std::span<const Equation* const> step,
                         std::span<const Value> operands);

}  // namespace farcall::stablehlo
