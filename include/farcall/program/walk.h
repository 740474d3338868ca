// Walking programs: visiting equations and nested programs, finding the uses of variables,
// substitution.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/program/program.h>

namespace farcall {

// The programs in an equation's parameters.
FARCALL_API std::vector<NamedProgram> nested_programs(const Equation& equation);

// The program of an equation that only runs a program on its operands; null for other equations.
FARCALL_API ProgramPtr called_program(const Equation& equation);

// Calls `visit` for each equation in order; the equations of its nested programs follow it, with
// depth + 1. `program` is the program that contains the equation. A program that several equations
// run is visited for each of them.
using EquationVisitor =
    std::function<void(const Program& program, const Equation& equation, size_t depth)>;
FARCALL_API void for_each_equation(const Program& program, const EquationVisitor& visit);

// Calls `visit` once for each nested program, then for the program: inner programs first.
FARCALL_API void for_each_program(const Program& program,
                                  const std::function<void(const Program&)>& visit);

// ProgramBuilder refuses programs that are nested deeper, so that code that walks programs may
// recurse.
inline constexpr int64_t kMaxProgramDepth = 256;

struct Nesting {
  int64_t depth = 1;  // 1 plus the depth of the deepest nested program
  // Including nested programs, each counted once for each equation that holds it. Saturates at
  // INT64_MAX.
  int64_t num_equations = 0;
};
FARCALL_API Nesting nesting_of(const Program& program);

// Raises RESOURCE_EXHAUSTED if inlining the nested programs would add millions of equations,
// because equations share these programs. `action` names what needs the inlining: "compile".
FARCALL_API void check_expansion(const Program& program, std::string_view action);

// The equations in an order that keeps their dependences, in which those that `is_late` come as
// late as possible: after all that need none of them. If there is `joins`, late equations that
// could come at the same time, and for which joins(first, other) holds, are one step; all others
// are steps of their own.
FARCALL_API std::vector<std::vector<const Equation*>> late_equations_last(
    const Program& program, const std::function<bool(const Equation&)>& is_late,
    const std::function<bool(const Equation& first, const Equation& other)>& joins = {});

// A use of a variable: operand `operand` of an equation, or output `operand` of the program.
struct Use {
  static constexpr uint32_t kOutput = UINT32_MAX;
  uint32_t equation = kOutput;
  uint32_t operand = 0;

  bool is_output() const { return equation == kOutput; }
  friend bool operator==(const Use&, const Use&) = default;
};
// The uses of each variable, in program order. Does not look into nested programs, which have their
// own variables.
FARCALL_API std::vector<std::vector<Use>> find_users(const Program& program);

// A copy of the program that reads other atoms in place of variables. Equations that become unused
// are kept. Raises INVALID_ARGUMENT if an atom has another type or is defined later than it is
// read.
FARCALL_API ProgramPtr substitute(const Program& program,
                                  const std::unordered_map<uint32_t, Atom>& replacements);

}  // namespace farcall
