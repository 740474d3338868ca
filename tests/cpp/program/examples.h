// Equations in text, one or more for every primitive, from which tests make programs.
#pragma once

#include <string>
#include <vector>

namespace farcall::testing {

// "_" names the results, the inputs are named as they are read.
struct ExampleEquation {
  std::string inputs, equation;
};
std::vector<ExampleEquation> example_equations();

}  // namespace farcall::testing
