// Inliner: copies a program, with the equations of other programs in place of some of its own.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <farcall/program/program.h>

namespace farcall {

class Inliner {
 public:
  // `program` must live until run() has returned.
  explicit Inliner(const Program& program);
  virtual ~Inliner() = default;
  ProgramPtr run();

 protected:
  // What stands for the results of an equation that goes; nothing for one that stays. The equation
  // is a copy that reads atoms of the target, and may be changed.
  virtual std::optional<std::vector<Atom>> replacement(Equation& equation) = 0;

  // The equations of `body` on these operands. Returns its results.
  std::vector<Atom> add_body(const Program& body, std::span<const Atom> inputs);
  uint32_t add_variable(ShapeDtype type);
  Atom add_literal(const Literal& literal);

  Program target_;

 private:
  // `names`: what each variable of `program` is called in the target.
  void add_equations(const Program& program, std::vector<Atom>& names, bool is_outermost);

  const Program& program_;
};

}  // namespace farcall
