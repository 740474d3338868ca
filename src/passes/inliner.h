// Inliner: copies a program and replaces some of its equations by the equations of other programs.
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
  // The atoms that replace the results of an equation; nullopt keeps the equation. `equation` is a
  // copy that reads atoms of the target, and may be changed.
  virtual std::optional<std::vector<Atom>> replacement(Equation& equation) = 0;

  // Adds the equations of `body` with these operands. Returns its results.
  std::vector<Atom> add_body(const Program& body, std::span<const Atom> inputs);
  uint32_t add_variable(ShapeDtype type);
  Atom add_literal(const Literal& literal);

  Program target_;

 private:
  // `names`: for each variable of `program`, its atom in the target.
  void add_equations(const Program& program, std::vector<Atom>& names, bool is_outermost);

  const Program& program_;
};

}  // namespace farcall
