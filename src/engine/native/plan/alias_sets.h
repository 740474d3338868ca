// Alias sets: which values lie in the same memory. Each set has one representative, the variable
// that its memory was made for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <farcall/program/program.h>

#include "engine/native/plan.h"
#include "engine/native/plan/uses.h"

namespace farcall::native {

class AliasSets {
 public:
  // Each variable alone.
  AliasSets(const Program& program, const PlanOptions& options, const Uses& uses);

  uint32_t representative(uint32_t variable) const {
    while (parent_[variable] != variable) variable = parent_[variable];
    return variable;
  }
  // Whether the value lies in the memory of this representative.
  bool contains(uint32_t representative, Atom atom) const {
    return atom.is_variable() && this->representative(atom.index) == representative;
  }
  // Whether the variable lies in memory that was made for another one.
  bool is_alias(uint32_t variable) const { return parent_[variable] != variable; }
  // The last equation that reads a member; of a representative.
  size_t last_read(uint32_t representative) const { return last_read_[representative]; }
  // Whether the memory may be written over once nobody reads it; of a representative.
  bool is_writable(uint32_t representative) const { return is_writable_[representative]; }

  // Puts a variable that is alone so far into the set of another one.
  void add(uint32_t variable, uint32_t to);

  // Why an equation may not write over this operand; empty where it may. An operand may be written
  // over when its memory is the plan's own, nobody reads it later, and the equation itself reads it
  // through this operand alone, but for `num_copied_reads` reads of copies that are made before.
  std::string why_not_overwrite(size_t equation, size_t operand, size_t num_copied_reads = 0) const;

 private:
  const Program& program_;
  bool is_nested_;
  std::vector<uint32_t> parent_;
  std::vector<size_t> last_read_;
  std::vector<bool> is_writable_;
};

}  // namespace farcall::native
