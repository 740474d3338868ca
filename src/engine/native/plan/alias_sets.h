// Alias sets: which values share memory. Each set has a representative: the variable for which the
// memory was allocated.
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
  // Each variable starts in its own set.
  AliasSets(const Program& program, const PlanOptions& options, const Uses& uses);

  uint32_t representative(uint32_t variable) const {
    while (parent_[variable] != variable) variable = parent_[variable];
    return variable;
  }
  // Whether the value is in the set of this representative.
  bool contains(uint32_t representative, Atom atom) const {
    return atom.is_variable() && this->representative(atom.index) == representative;
  }
  // Whether the variable uses memory that was allocated for another one.
  bool is_alias(uint32_t variable) const { return parent_[variable] != variable; }
  // The last equation that reads a member of the representative's set.
  size_t last_read(uint32_t representative) const { return last_read_[representative]; }
  // Whether the memory of the representative's set may be overwritten once it is no longer read.
  bool is_writable(uint32_t representative) const { return is_writable_[representative]; }

  // Whether an equation before this one that runs at the same time reads a member of the
  // representative's set.
  bool is_read_beside(uint32_t representative, size_t equation) const;

  // Adds a variable that has its own set to the set of `to`.
  void add(uint32_t variable, uint32_t to);

  // Why an equation may not overwrite this operand; empty if it may. It may if the memory belongs
  // to the plan, nothing reads it later, and the equation reads it through this operand only. Reads
  // of copies that are made before, `num_copied_reads` of them, do not count.
  std::string why_not_overwrite(size_t equation, size_t operand, size_t num_copied_reads = 0) const;

 private:
  const Program& program_;
  bool is_nested_;
  std::vector<uint32_t> parent_;
  std::vector<size_t> last_read_;
  std::vector<size_t> first_beside_;  // by equation, see Uses
  std::vector<bool> is_writable_;
};

}  // namespace farcall::native
