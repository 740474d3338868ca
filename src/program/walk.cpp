#include <farcall/program/walk.h>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/program/verify.h>

namespace farcall {
namespace {

void walk(const Program& program, const EquationVisitor& visit, size_t depth) {
  for (const Equation& equation : program.equations) {
    visit(program, equation, depth);
    for (const auto& nested : nested_programs(equation)) walk(*nested.program, visit, depth + 1);
  }
}

}  // namespace

std::vector<NamedProgram> nested_programs(const Equation& equation) {
  return equation.params ? equation.params->programs() : std::vector<NamedProgram>();
}

ProgramPtr called_program(const Equation& equation) {
  const auto body = equation.primitive->body;
  return body ? body(equation.params.get()) : nullptr;
}

void for_each_equation(const Program& program, const EquationVisitor& visit) {
  walk(program, visit, 0);
}

std::vector<std::vector<Use>> find_users(const Program& program) {
  std::vector<std::vector<Use>> users(program.variable_types.size());
  const auto add = [&](const std::vector<Atom>& atoms, uint32_t equation) {
    for (uint32_t i = 0; i < atoms.size(); ++i) {
      if (atoms[i].is_variable()) users[atoms[i].index].push_back({equation, i});
    }
  };
  for (uint32_t i = 0; i < program.equations.size(); ++i) add(program.equations[i].inputs, i);
  add(program.outputs, Use::kOutput);
  return users;
}

ProgramPtr substitute(const Program& program,
                      const std::unordered_map<uint32_t, Atom>& replacements) {
  for (const auto& [variable, atom] : replacements) {
    const size_t limit = program.variable_types.size();
    const size_t last = atom.is_variable() ? limit : program.literals.size();
    if (variable >= limit || atom.index >= last) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("substitute: the program has {} variables and {} literals; variable "
                              "{} cannot become {} {}",
                              limit, program.literals.size(), variable,
                              atom.is_variable() ? "variable" : "literal", atom.index));
    }
    const ShapeDtype wanted = program.variable_types[variable], got = program.type_of(atom);
    if (wanted.strengthened() == got.strengthened()) continue;
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("substitute: variable {} is {} and cannot be replaced by {}", variable,
                            wanted.to_string(), got.to_string()));
  }
  Program copy = program;
  const auto replace = [&](std::vector<Atom>& atoms) {
    for (Atom& atom : atoms) {
      if (!atom.is_variable()) continue;
      if (const auto it = replacements.find(atom.index); it != replacements.end())
        atom = it->second;
    }
  };
  for (Equation& equation : copy.equations) replace(equation.inputs);
  replace(copy.outputs);
  verify(copy);
  return std::make_shared<const Program>(std::move(copy));
}

}  // namespace farcall
