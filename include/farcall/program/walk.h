// Walking programs: every equation, who reads a variable, and programs with variables replaced.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/program/program.h>

namespace farcall {

// The programs that an equation's parameters hold.
FARCALL_API std::vector<NamedProgram> nested_programs(const Equation& equation);

// The program that an equation does nothing but run on its operands; null for other equations.
FARCALL_API ProgramPtr called_program(const Equation& equation);

// Calls `visit` for each equation in the order of the text, followed by those of the programs that
// it runs, at one more depth. An equation is of `program`, whose variables it names. A program that
// several equations run is visited for each of them.
using EquationVisitor =
    std::function<void(const Program& program, const Equation& equation, size_t depth)>;
FARCALL_API void for_each_equation(const Program& program, const EquationVisitor& visit);

// Calls `visit` once for the program and for each program inside, however many equations run it:
// those inside first.
FARCALL_API void for_each_program(const Program& program,
                                  const std::function<void(const Program&)>& visit);

// Programs in programs beyond this depth are refused where they are built, so that whatever walks a
// program may recurse.
inline constexpr int64_t kMaxProgramDepth = 256;

struct Nesting {
  int64_t depth = 1;  // one more than that of the deepest program inside
  // With those of the programs inside, each as often as an equation holds it; at most INT64_MAX.
  int64_t num_equations = 0;
};
FARCALL_API Nesting nesting_of(const Program& program);

// Raises RESOURCE_EXHAUSTED when programs that equations share would become millions of equations
// if each were copied to where it runs, as `action` ("compile") would do.
FARCALL_API void check_expansion(const Program& program, std::string_view action);

// Where a variable is read: input `operand` of an equation, or output `operand` of the program.
struct Use {
  static constexpr uint32_t kOutput = UINT32_MAX;
  uint32_t equation = kOutput;
  uint32_t operand = 0;

  bool is_output() const { return equation == kOutput; }
  friend bool operator==(const Use&, const Use&) = default;
};
// By variable, in order. Operands of calls are uses by the call; the programs inside have variables
// of their own.
FARCALL_API std::vector<std::vector<Use>> find_users(const Program& program);

// A program that reads other atoms in place of variables; equations whose results nobody reads any
// more stay. Raises INVALID_ARGUMENT where the result is no valid program: an atom of another type,
// or one that is defined later.
FARCALL_API ProgramPtr substitute(const Program& program,
                                  const std::unordered_map<uint32_t, Atom>& replacements);

}  // namespace farcall
