// Layouts: the order in which the elements of each value lie in memory. A value stays in the order
// in which it was made as long as nobody needs another one, and a transpose that only changes that
// order costs nothing.
#pragma once

#include <cstdint>
#include <vector>

#include <farcall/core/layout.h>
#include <farcall/program/program.h>

#include "engine/native/plan/foreign_calls.h"
#include "engine/native/plan/uses.h"

namespace farcall::native {

class Layouts {
 public:
  Layouts(const Program& program, const Uses& uses, const ForeignCalls& calls);

  // Row-major where there is none.
  const MajorToMinor& of(uint32_t variable) const { return layouts_[variable]; }
  MajorToMinor of(Atom atom) const {
    return atom.is_variable() ? layouts_[atom.index] : std::nullopt;
  }
  // Whether the result of this transpose is its operand's memory, read in another order.
  bool is_free_transpose(size_t equation) const { return is_free_[equation]; }

 private:
  void choose_for_results(const Program& program, const Equation& equation,
                          const FfiCallParams& call);
  bool transpose_for_free(const Program& program, const Uses& uses, const ForeignCalls& calls,
                          const Equation& equation);

  std::vector<MajorToMinor> layouts_;  // by variable
  std::vector<bool> is_free_;          // by equation
};

// Whether the layout puts the elements in row-major order: dimensions of size 1 may stand anywhere.
bool is_row_major_in_memory(ShapeDtype type, const MajorToMinor& layout);
// Whether two layouts put the elements in the same order.
bool is_same_in_memory(ShapeDtype type, const MajorToMinor& a, const MajorToMinor& b);

}  // namespace farcall::native
