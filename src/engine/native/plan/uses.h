// Liveness: where a program's values are made and read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <farcall/program/program.h>

namespace farcall::native {

// Later than every equation.
inline constexpr size_t kNever = SIZE_MAX;

// All by variable.
struct Uses {
  std::vector<size_t> made_by;               // the equation; kNever for inputs and constants
  std::vector<size_t> last_read;             // the equation, or kNever for results of the program
  std::vector<std::vector<size_t>> readers;  // equations, once for each operand
};

Uses uses_of(const Program& program);

// The name of the first operation that reads this operand; in a cluster, of the one inside.
std::string_view reader_name(const Equation& equation, size_t operand);

// Whether the program returns the variable itself.
bool is_result_of(const Program& program, uint32_t variable);

}  // namespace farcall::native
