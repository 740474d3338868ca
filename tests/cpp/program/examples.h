// Equations in text form, one or more for every primitive, from which tests build programs.
#pragma once

#include <string>
#include <vector>

namespace farcall::testing {

// The results are named "_"; inputs are named in the order in which they are read.
struct ExampleEquation {
  std::string inputs, equation;
};
std::vector<ExampleEquation> example_equations();

}  // namespace farcall::testing
