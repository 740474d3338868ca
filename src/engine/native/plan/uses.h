// Liveness: which equations make and read a program's values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <farcall/program/program.h>

#include "engine/native/plan/groups.h"

namespace farcall::native {

// Greater than the number of every equation.
inline constexpr size_t kNever = SIZE_MAX;

// Indexed by variable, unless stated.
struct Uses {
  std::vector<size_t> made_by;               // the equation; kNever for inputs and constants
  std::vector<size_t> last_read;             // the equation; kNever for results of the program
  std::vector<std::vector<size_t>> readers;  // equations, once per operand
  // By equation: the first one that runs at the same time; itself if none does.
  std::vector<size_t> first_beside;
};

Uses uses_of(const Program& program, std::span<const EquationGroup> groups = {});

// The name of the operation that reads this operand; in a cluster, of the first one inside that
// does.
std::string_view reader_name(const Equation& equation, size_t operand);

// Whether the program returns the variable itself.
bool is_result_of(const Program& program, uint32_t variable);

}  // namespace farcall::native
