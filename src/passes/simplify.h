// What the rules of simplify see and give.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <farcall/program/program.h>

namespace farcall {

class Simplifier {
 public:
  // `may_drop`: whether rules may give results that read less than the equation did.
  Simplifier(ProgramPtr program, bool may_drop);
  // Once.
  ProgramPtr run();

  // Operand `i` of an equation of this program, with what simpler equations made of it.
  Atom input(const Equation& equation, size_t i) const { return resolved(equation.inputs[i]); }
  ShapeDtype type_of(Atom atom) const { return program_.type_of(atom); }
  // The equation that gives this value, simplified; null for inputs, constants and literals.
  const Equation* definition(Atom atom) const;
  // The real number that the value, or each of its elements, is known to be.
  std::optional<double> number(Atom atom) const;
  bool may_drop() const { return may_drop_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  Atom resolved(Atom atom) const { return atom.is_variable() ? stands_for_[atom.index] : atom; }
  void simplify_equation(uint32_t index);
  bool may_stand_for(Atom atom, uint32_t variable) const;
  bool is_of_calls(Atom atom) const { return atom.is_variable() && of_calls_[atom.index]; }
  const Equation& equation(uint32_t index) const;
  ProgramPtr make();

  ProgramPtr held_;
  const Program& program_;
  bool may_drop_;
  std::vector<Atom> stands_for_;      // by variable
  std::vector<uint32_t> defined_at_;  // by variable: its equation, or kNone
  std::vector<uint32_t> changed_at_;  // by equation: what stands for it in changed_, or kNone
  std::vector<Equation> changed_;
  std::vector<bool> goes_;  // by equation
  std::vector<bool> is_output_, of_calls_;
  bool is_changed_ = false;
};

// A value that the result of an equation is, or an equation with the same result; or neither.
struct Simpler {
  std::optional<Atom> value;
  std::optional<Equation> equation;
};
using SimplifyRule = Simpler (*)(const Simplifier& program, const Equation& equation);
// Null where there is none. Rules are of equations with one result.
SimplifyRule find_simplify_rule(const Primitive& primitive);

}  // namespace farcall
