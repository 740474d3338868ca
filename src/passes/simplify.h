// What the rules of simplify receive and return.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <farcall/program/program.h>

namespace farcall {

class Simplifier {
 public:
  // `may_drop`: whether rules may return results that read fewer operands than the equation.
  Simplifier(ProgramPtr program, bool may_drop);
  // May be called once.
  ProgramPtr run();

  // Operand `i` of an equation, after the simplifications so far.
  Atom input(const Equation& equation, size_t i) const { return resolved(equation.inputs[i]); }
  ShapeDtype type_of(Atom atom) const { return program_.type_of(atom); }
  // The simplified equation that defines this value; null for inputs, constants and literals.
  const Equation* definition(Atom atom) const;
  // The known real number that the value, or each of its elements, equals.
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
  std::vector<Atom> stands_for_;      // by variable: its replacement, or itself
  std::vector<uint32_t> defined_at_;  // by variable: its equation, or kNone
  std::vector<uint32_t>
      changed_at_;  // by equation: the index of its replacement in changed_, or kNone
  Equations changed_;
  std::vector<bool> goes_;  // by equation
  std::vector<bool> is_output_, of_calls_;
  bool is_changed_ = false;
};

// A value equal to the equation's result, or an equation with the same result, or neither.
struct Simpler {
  std::optional<Atom> value;
  std::optional<Equation> equation;
};
using SimplifyRule = Simpler (*)(const Simplifier& program, const Equation& equation);
// Null if there is none. Rules apply to equations with one result.
SimplifyRule find_simplify_rule(const Primitive& primitive);

}  // namespace farcall
