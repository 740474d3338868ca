// Recording: running a function on traced arrays to get its Program.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/program/program.h>
#include <farcall/trace/array.h>

namespace farcall {

using FlatFunction = std::function<std::vector<Array>(std::span<const Array>)>;

// Calls `function` once on traced arrays of these types and returns the recorded program. Concrete
// arrays that it closes over become constants; concrete scalars become literals.
FARCALL_API ProgramPtr record(const FlatFunction& function, std::span<const ShapeDtype> inputs,
                              std::string name = {});

// A program and the arrays that its function closed over: concrete arrays that are not scalars, and
// traced arrays of enclosing transformations. They are the first inputs of the program.
struct Recording {
  ProgramPtr program;
  std::vector<Array> captured;
};
FARCALL_API Recording record_closure(const FlatFunction& function,
                                     std::span<const ShapeDtype> inputs, std::string name = {});
// The same, but concrete arrays become constants. A program that captured nothing is valid for all
// calls with these types.
FARCALL_API Recording record_with_constants(const FlatFunction& function,
                                            std::span<const ShapeDtype> inputs,
                                            std::string name = {});

// Applies a program's equations under the current interpreter.
FARCALL_API std::vector<Array> evaluate(const Program& program, std::span<const Array> inputs);
// The same, but `rule` computes the results of each equation.
using EquationRule =
    std::function<std::vector<Array>(const Equation& equation, std::span<const Array> operands)>;
FARCALL_API std::vector<Array> evaluate(const Program& program, std::span<const Array> inputs,
                                        const EquationRule& rule);

// The literal as an array.
FARCALL_API Array to_array(const Literal& literal);
FARCALL_API std::vector<ShapeDtype> types_of(std::span<const Array> arrays);

}  // namespace farcall
