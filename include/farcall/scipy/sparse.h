// Iterative solvers of linear systems A x = b, of which only the products A x are needed (namespace
// farcall::scipy::sparse::linalg).
//
// x and b are vectors, given as lists of arrays of one dtype. The derivatives with respect to b and
// to what `a` closes over are those of the exact solution: each solves another system with the same
// method. The start, the tolerances and the preconditioner count as constant.
//
// All raise TypeError if b has integers or several dtypes, and Error (INVALID_ARGUMENT) for a
// function or a start that does not have the types of b.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/trace/array.h>
#include <farcall/trace/record.h>

namespace farcall::scipy::sparse::linalg {

struct IterationOptions {
  std::vector<Array> start = {};  // empty: zeros
  // Iterations end when the norm of the residual b - A x is at most max(tol * norm(b), atol).
  Array tol = 1e-5, atol = 0.0;
  std::optional<Array> max_iterations = {};  // 10 for each element of b
  FlatFunction preconditioner = {};          // approximates the inverse of A; none by default
};

// For a Hermitian positive definite A: the method of conjugate gradients.
FARCALL_API std::vector<Array> cg(const FlatFunction& a, std::span<const Array> b,
                                  const IterationOptions& options = {});
// For any A: stabilized biconjugate gradients.
FARCALL_API std::vector<Array> bicgstab(const FlatFunction& a, std::span<const Array> b,
                                        const IterationOptions& options = {});

struct GmresOptions : IterationOptions {
  int64_t restart = 20;  // products in an iteration, and vectors that are kept
  // Ends an iteration early when it has converged. Otherwise its least-squares problem is solved
  // once, at its end.
  bool is_incremental = false;
};
// For any A: generalized minimal residuals. The preconditioned residual is compared with the
// tolerance.
FARCALL_API std::vector<Array> gmres(const FlatFunction& a, std::span<const Array> b,
                                     const GmresOptions& options = {});

}  // namespace farcall::scipy::sparse::linalg
