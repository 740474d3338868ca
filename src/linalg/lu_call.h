// LU factorization without the permutation, and solving with the factors.
#pragma once

#include <farcall/trace/array.h>

namespace farcall::linalg {

struct LuFactors {
  Array lu, pivots;
};
LuFactors factor_lu(const Array& x);

// a^-1 b, or a^-T b if `transpose`. `factors` must be those of `a` and are treated as constants:
// the derivative is that of the system, and nothing is factored again.
Array solve_factored(const Array& a, const LuFactors& factors, const Array& b, bool transpose);

}  // namespace farcall::linalg
