#include <farcall/program/walk.h>

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/interrupt.h>
#include <farcall/core/sizes.h>
#include <farcall/program/verify.h>

namespace farcall {
namespace {

void walk(const Program& program, const EquationVisitor& visit, size_t depth) {
  for (const Equation& equation : program.equations) {
    poll_interrupt();
    visit(program, equation, depth);
    for (const auto& nested : nested_programs(equation)) walk(*nested.program, visit, depth + 1);
  }
}

void walk_once(const Program& program, std::unordered_set<const Program*>& seen,
               const std::function<void(const Program&)>& visit) {
  if (!seen.insert(&program).second) return;
  for (const Equation& equation : program.equations) {
    poll_interrupt();
    for (const auto& nested : nested_programs(equation)) walk_once(*nested.program, seen, visit);
  }
  visit(program);
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

void for_each_program(const Program& program, const std::function<void(const Program&)>& visit) {
  std::unordered_set<const Program*> seen;
  walk_once(program, seen, visit);
}

Nesting nesting_of(const Program& program) {
  const auto has_programs = [](const Equation& each) { return !nested_programs(each).empty(); };
  if (std::ranges::none_of(program.equations, has_programs)) {
    return {1, std::ssize(program.equations)};
  }
  // Cached: many equations may hold one program.
  return program.derived.find_or_make<Nesting>("nesting", {}, [&] {
    Nesting all{1, std::ssize(program.equations)};
    for (const Equation& equation : program.equations) {
      for (const auto& nested : nested_programs(equation)) {
        const Nesting inner = nesting_of(*nested.program);
        all.depth = std::max(all.depth, inner.depth + 1);
        all.num_equations = saturated_sum(all.num_equations, inner.num_equations);
      }
    }
    return all;
  });
}

void check_expansion(const Program& program, std::string_view action) {
  // Limits only the equations that inlining adds: the program itself may be of any size.
  constexpr int64_t kMaxAdded = int64_t{1} << 22;
  const int64_t num_equations = nesting_of(program).num_equations;
  if (num_equations - std::ssize(program.equations) <= kMaxAdded) return;
  const bool is_counted = num_equations < INT64_MAX;
  throw Error(
      ErrorCode::kResourceExhausted,
      fmt::format(
          "{}: inlining the nested programs, which several equations share, would give {}{} "
          "equations; at most {} may be added. Use a loop (scan, fori_loop) in place of calls",
          action, is_counted ? "" : "more than ", num_equations, kMaxAdded));
}

std::vector<std::vector<const Equation*>> late_equations_last(
    const Program& program, const std::function<bool(const Equation&)>& is_late,
    const std::function<bool(const Equation&, const Equation&)>& joins) {
  std::vector<const Equation*> left, late;
  for (const Equation& equation : program.equations) {
    left.push_back(&equation);
    if (is_late(equation)) late.push_back(&equation);
  }
  std::vector<std::vector<const Equation*>> steps;
  if (late.empty() || (joins && late.size() == 1)) {
    for (const Equation* equation : left) steps.push_back({equation});
    return steps;
  }
  std::vector<bool> is_known(program.variable_types.size(), true);
  for (const Equation* equation : left) {
    for (const uint32_t output : equation->outputs) is_known[output] = false;
  }
  const auto is_ready = [&](const Equation* equation) {
    return std::ranges::all_of(
        equation->inputs, [&](Atom atom) { return !atom.is_variable() || is_known[atom.index]; });
  };
  const auto append = [&](std::vector<const Equation*> step) {
    for (const Equation* equation : step) {
      for (const uint32_t output : equation->outputs) is_known[output] = true;
    }
    steps.push_back(std::move(step));
  };
  while (!left.empty()) {
    std::vector<const Equation*> waiting;
    for (const Equation* equation : left) {
      const bool is_last = std::ranges::binary_search(late, equation);
      !is_last&& is_ready(equation) ? append({equation}) : waiting.push_back(equation);
    }
    left.clear();
    if (waiting.empty()) break;
    // Nothing before the first one that waits is missing.
    std::vector<const Equation*> step{waiting.front()};
    for (const Equation* equation : std::span(waiting).subspan(1)) {
      const bool is_partner = joins && std::ranges::binary_search(late, equation) &&
                              is_ready(equation) && joins(*step[0], *equation);
      (is_partner ? step : left).push_back(equation);
    }
    append(std::move(step));
  }
  return steps;
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
      invalid_argument(
          fmt::format("substitute: the program has {} variables and {} literals; variable "
                      "{} cannot become {} {}",
                      limit, program.literals.size(), variable,
                      atom.is_variable() ? "variable" : "literal", atom.index));
    }
    const ShapeDtype wanted = program.variable_types[variable], got = program.type_of(atom);
    if (wanted.strengthened() == got.strengthened()) continue;
    invalid_argument(fmt::format("substitute: variable {} is {} and cannot be replaced by {}",
                                 variable, wanted.to_string(), got.to_string()));
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
