// LU factors without the permutation, and systems solved with them.
#pragma once

#include <farcall/trace/array.h>

namespace farcall::linalg {

struct LuFactors {
  Array lu, pivots;
};
LuFactors factor_lu(const Array& x);

// a^-1 b, or a^-T b, where `factors` are those of `a`, and are taken for constants: its derivative
// is that of the system, and factors nothing again.
Array solve_factored(const Array& a, const LuFactors& factors, const Array& b, bool transpose);

}  // namespace farcall::linalg
