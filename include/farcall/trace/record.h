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

// Calls `function` once on traced arrays of these types and returns what it did. Concrete arrays
// that it closes over become constants (scalars become literals).
FARCALL_API ProgramPtr record(const FlatFunction& function, std::span<const ShapeDtype> inputs,
                              std::string name = {});

// A program and the arrays that its function closed over, concrete ones that are no scalars and
// traced ones of the transformations around it. They are the first inputs of the program.
struct Recording {
  ProgramPtr program;
  std::vector<Array> captured;
};
FARCALL_API Recording record_closure(const FlatFunction& function,
                                     std::span<const ShapeDtype> inputs, std::string name = {});
// The same, but concrete arrays become constants: a program that captured nothing is the function's
// for all calls with these types.
FARCALL_API Recording record_with_constants(const FlatFunction& function,
                                            std::span<const ShapeDtype> inputs,
                                            std::string name = {});

// Applies a program's equations under the current interpreter.
FARCALL_API std::vector<Array> evaluate(const Program& program, std::span<const Array> inputs);
// With results of `rule` in place of what each equation gives.
using EquationRule =
    std::function<std::vector<Array>(const Equation& equation, std::span<const Array> operands)>;
FARCALL_API std::vector<Array> evaluate(const Program& program, std::span<const Array> inputs,
                                        const EquationRule& rule);

// The array of a literal.
FARCALL_API Array to_array(const Literal& literal);
FARCALL_API std::vector<ShapeDtype> types_of(std::span<const Array> arrays);

}  // namespace farcall
