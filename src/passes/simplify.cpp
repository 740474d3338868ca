#include "passes/simplify.h"

#include <algorithm>
#include <utility>

#include <farcall/core/element_number.h>
#include <farcall/core/interrupt.h>
#include <farcall/passes/passes.h>
#include <farcall/primitives/structural.h>

#include "passes/internal/foreign.h"
#include "passes/internal/nested.h"

namespace farcall {

Simplifier::Simplifier(ProgramPtr program, bool may_drop)
    : held_(std::move(program)), program_(*held_), may_drop_(may_drop) {
  const size_t count = program_.variable_types.size();
  for (uint32_t i = 0; i < count; ++i) stands_for_.push_back(Atom::variable(i));
  defined_at_.resize(count, kNone);
  is_output_.resize(count, false);
  for (const Atom atom : program_.outputs) {
    if (atom.is_variable()) is_output_[atom.index] = true;
  }
  of_calls_ = values_of_calls(program_);
  changed_at_.resize(program_.equations.size(), kNone);
  goes_.resize(program_.equations.size(), false);
}

ProgramPtr Simplifier::run() {
  for (uint32_t i = 0; i < program_.equations.size(); ++i) {
    poll_interrupt(i);
    simplify_equation(i);
  }
  return is_changed_ ? make() : held_;
}

void Simplifier::simplify_equation(uint32_t index) {
  const Equation& old = program_.equations[index];
  for (const uint32_t output : old.outputs) defined_at_[output] = index;
  const SimplifyRule rule = find_simplify_rule(*old.primitive);
  if (!rule || of_calls_[old.outputs[0]]) return;
  Simpler simpler = rule(*this, old);
  if (simpler.value && may_stand_for(*simpler.value, old.outputs[0])) {
    stands_for_[old.outputs[0]] = *simpler.value;
    if (is_output_[old.outputs[0]]) is_output_[simpler.value->index] = true;
    is_changed_ = goes_[index] = true;
  } else if (simpler.equation && std::ranges::none_of(simpler.equation->inputs, [&](Atom atom) {
               return is_of_calls(atom);
             })) {
    changed_at_[index] = static_cast<uint32_t>(changed_.size());
    changed_.push_back(std::move(*simpler.equation));
    is_changed_ = true;
  }
}

// Results of the program keep memory of their own.
bool Simplifier::may_stand_for(Atom atom, uint32_t variable) const {
  if (type_of(atom) != program_.variable_types[variable] || is_of_calls(atom)) return false;
  return !is_output_[variable] || (definition(atom) && !is_output_[atom.index]);
}

const Equation& Simplifier::equation(uint32_t index) const {
  return changed_at_[index] == kNone ? program_.equations[index] : changed_[changed_at_[index]];
}

const Equation* Simplifier::definition(Atom atom) const {
  if (!atom.is_variable() || defined_at_[atom.index] == kNone) return nullptr;
  return &equation(defined_at_[atom.index]);
}

std::optional<double> Simplifier::number(Atom atom) const {
  if (const Equation* made = definition(atom);
      made && try_params<BroadcastInDimParams>(made->params.get())) {
    atom = input(*made, 0);
  }
  if (atom.is_variable()) return std::nullopt;
  const Literal& literal = program_.literals[atom.index];
  double number = 0;
  if (!convert_element(literal.type.dtype(), literal.bytes.data(), DType::kFloat64, &number)) {
    return std::nullopt;
  }
  return number;
}

ProgramPtr Simplifier::make() {
  const auto result = to_change(std::move(held_));
  for (uint32_t i = 0; i < result->equations.size(); ++i) {
    if (changed_at_[i] != kNone) result->equations[i] = std::move(changed_[changed_at_[i]]);
    for (Atom& atom : result->equations[i].inputs) atom = resolved(atom);
  }
  erase_equations(*result, goes_);
  for (Atom& atom : result->outputs) atom = resolved(atom);
  return result;
}

namespace {

ProgramPtr simplify_all(ProgramPtr program, bool may_drop) {
  program = pass_nested(std::move(program), [may_drop](const ProgramPtr& nested) {
    return simplify_all(nested, may_drop);
  });
  return Simplifier(std::move(program), may_drop).run();
}

}  // namespace

ProgramPtr simplify(ProgramPtr program) {
  // Dropping a read may make a foreign call without effects dead, so rules may do that only in
  // programs without foreign code.
  const bool may_drop = !holds_foreign_code(*program);
  return simplify_all(std::move(program), may_drop);
}

}  // namespace farcall
