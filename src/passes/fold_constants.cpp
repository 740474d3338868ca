#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include <farcall/core/error.h>
#include <farcall/core/interrupt.h>
#include <farcall/passes/passes.h>

#include "passes/internal/foreign.h"
#include "passes/internal/nested.h"

namespace farcall {
namespace {

class Folder {
 public:
  Folder(ProgramPtr program, const KnownProgramEvaluator& evaluate)
      : held_(std::move(program)), program_(*held_), evaluate_(evaluate) {}

  // May be called once.
  ProgramPtr run() {
    find_known();
    if (num_folded_ == 0) return held_;
    const std::vector<uint32_t> wanted = find_wanted();
    const std::vector<Storage> values = evaluate_(known_program(wanted));
    const auto result = to_change(std::move(held_));
    std::unordered_map<uint32_t, Atom> literals;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const ShapeDtype type = result->variable_types[wanted[i]];
      if (type.rank() == 0) {
        Literal literal{type, {}};
        std::memcpy(literal.bytes.data(), values[i].data(), type.nbytes());
        result->literals.push_back(literal);
        literals[wanted[i]] = Atom::literal(static_cast<uint32_t>(result->literals.size() - 1));
      } else {
        result->constants.push_back({wanted[i], values[i]});
      }
    }
    erase_equations(*result, is_folded_);
    if (literals.empty()) return result;
    for (Equation& equation : result->equations) {
      for (Atom& atom : equation.inputs) {
        if (!atom.is_variable()) continue;
        if (const auto it = literals.find(atom.index); it != literals.end()) atom = it->second;
      }
    }
    return result;
  }

 private:
  // Limit of one value.
  static constexpr size_t kMaxBytes = 1024;

  bool is_small(uint32_t variable) const {
    const ShapeDtype type = program_.variable_types[variable];
    return !type.is_token() && !is_key(type.dtype()) && type.nbytes() > 0 &&
           type.nbytes() <= kMaxBytes;
  }

  static bool may_fold(const Equation& equation) {
    const Primitive& primitive = *equation.primitive;
    const bool computes = primitive.kind == PrimitiveKind::kOperation ||
                          primitive.kind == PrimitiveKind::kView ||
                          primitive.kind == PrimitiveKind::kTranspose;
    return computes && !has_effect(equation.effects) && !primitive.is_foreign() &&
           !primitive.body && !primitive.cost && !primitive.axis_names &&
           primitive.never_run.empty();
  }

  void find_known() {
    std::vector<bool> known(program_.variable_types.size(), false);
    for (const Constant& constant : program_.constants) {
      known[constant.variable] = constant.storage.data() && is_small(constant.variable);
    }
    // Results of the program, and values that foreign calls read, keep memory of their own.
    std::vector<bool> is_fixed = values_of_calls(program_);
    for (const Atom atom : program_.outputs) {
      if (atom.is_variable()) is_fixed[atom.index] = true;
    }
    const auto is_known = [&](Atom atom) { return !atom.is_variable() || known[atom.index]; };
    is_folded_.resize(program_.equations.size(), false);
    for (size_t i = 0; i < program_.equations.size(); ++i) {
      poll_interrupt(i);
      const Equation& equation = program_.equations[i];
      if (!std::ranges::all_of(equation.inputs, is_known) || !may_fold(equation) ||
          !std::ranges::all_of(equation.outputs,
                               [&](uint32_t v) { return is_small(v) && !is_fixed[v]; })) {
        continue;
      }
      is_folded_[i] = true;
      ++num_folded_;
      for (const uint32_t output : equation.outputs) known[output] = true;
    }
  }

  // The results of folded equations that remaining equations read.
  std::vector<uint32_t> find_wanted() const {
    std::vector<bool> is_made(program_.variable_types.size(), false);
    for (size_t i = 0; i < program_.equations.size(); ++i) {
      if (!is_folded_[i]) continue;
      for (const uint32_t output : program_.equations[i].outputs) is_made[output] = true;
    }
    std::vector<uint32_t> wanted;
    for (size_t i = 0; i < program_.equations.size(); ++i) {
      if (is_folded_[i]) continue;
      for (const Atom atom : program_.equations[i].inputs) {
        if (!atom.is_variable() || !is_made[atom.index]) continue;
        is_made[atom.index] = false;  // list it only once
        wanted.push_back(atom.index);
      }
    }
    return wanted;
  }

  // Has its own variables and literals, because it may need only a few of a long program's.
  ProgramPtr known_program(const std::vector<uint32_t>& wanted) const {
    Program known;
    known.name = program_.name;
    std::unordered_map<uint32_t, uint32_t> names;
    const auto define = [&](uint32_t variable) {
      known.variable_types.push_back(program_.variable_types[variable]);
      return names[variable] = static_cast<uint32_t>(known.variable_types.size() - 1);
    };
    std::unordered_map<uint32_t, const Storage*> constants;
    for (const Constant& constant : program_.constants) {
      constants[constant.variable] = &constant.storage;
    }
    for (size_t i = 0; i < program_.equations.size(); ++i) {
      if (!is_folded_[i]) continue;
      Equation copy = program_.equations[i];
      for (Atom& atom : copy.inputs) {
        if (!atom.is_variable()) {
          known.literals.push_back(program_.literals[atom.index]);
          atom = Atom::literal(static_cast<uint32_t>(known.literals.size() - 1));
        } else if (const auto it = names.find(atom.index); it != names.end()) {
          atom.index = it->second;
        } else {
          const Storage& storage = *constants.at(atom.index);
          atom.index = define(atom.index);
          known.constants.push_back({atom.index, storage});
        }
      }
      for (uint32_t& output : copy.outputs) output = define(output);
      known.equations.push_back(std::move(copy));
    }
    for (const uint32_t variable : wanted) {
      known.outputs.push_back(Atom::variable(names.at(variable)));
    }
    return std::make_shared<const Program>(std::move(known));
  }

  ProgramPtr held_;
  const Program& program_;
  const KnownProgramEvaluator& evaluate_;
  std::vector<bool> is_folded_;  // by equation
  size_t num_folded_ = 0;
};

// Whether the operands of an equation may be known before any is folded.
bool has_known_operands(const Program& program) {
  return !program.constants.empty() ||
         std::ranges::any_of(program.equations, [](const Equation& equation) {
           return std::ranges::none_of(equation.inputs, &Atom::is_variable);
         });
}

}  // namespace

ProgramPtr fold_constants(ProgramPtr program, const KnownProgramEvaluator& evaluate) {
  program = pass_nested(std::move(program),
                        [&](const ProgramPtr& nested) { return fold_constants(nested, evaluate); });
  if (!has_known_operands(*program)) return program;
  return Folder(std::move(program), evaluate).run();
}

}  // namespace farcall
