// Equations that transpose.
#pragma once

#include <cstdint>
#include <vector>

#include <farcall/primitives/structural.h>
#include <farcall/program/program.h>

namespace farcall::native {

inline bool is_transpose(const Equation& equation) {
  return equation.primitive->kind == PrimitiveKind::kTranspose;
}
inline const std::vector<int64_t>& permutation_of(const Equation& transpose) {
  return params_as<TransposeParams>(transpose.params.get()).permutation;
}

}  // namespace farcall::native
