// Layouts: the order of each value's elements in memory. A value keeps the layout in which it was
// made until something needs another one. A transpose that only changes the layout costs nothing.
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

  // nullopt is row-major.
  const MajorToMinor& of(uint32_t variable) const { return layouts_[variable]; }
  MajorToMinor of(Atom atom) const {
    return atom.is_variable() ? layouts_[atom.index] : std::nullopt;
  }
  // Whether the result of this transpose is its operand's memory in another layout.
  bool is_free_transpose(size_t equation) const { return is_free_[equation]; }

 private:
  void choose_for_results(const Program& program, const Equation& equation,
                          const FfiCallParams& call);
  bool transpose_for_free(const Program& program, const Uses& uses, const ForeignCalls& calls,
                          const Equation& equation);

  std::vector<MajorToMinor> layouts_;  // by variable
  std::vector<bool> is_free_;          // by equation
};

// Whether the elements are in row-major order. The position of dimensions of size 1 does not
// matter.
bool is_row_major_in_memory(ShapeDtype type, const MajorToMinor& layout);
// Whether two layouts put the elements in the same order.
bool is_same_in_memory(ShapeDtype type, const MajorToMinor& a, const MajorToMinor& b);

}  // namespace farcall::native
