// Linear algebra (namespace farcall::linalg): factorisations by foreign calls of LAPACK, and what
// follows from them. All take matrices stacked along any number of leading dimensions, of float32,
// float64, complex64 or complex128, and can be recorded, batched and differentiated.
//
// All raise Error (INVALID_ARGUMENT) for operands that do not fit, naming the function. A matrix
// for which a factorisation fails (a Cholesky factor of one that is not positive definite, an
// iteration that does not converge) gives NaN.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/trace/array.h>

namespace farcall::linalg {

// The lower triangular L with L L^H = x. Reads x, or (x + x^H) / 2.
FARCALL_API Array cholesky(const Array& x, bool symmetrize_input = true);

// P x = L U: L (unit diagonal, not stored) and U in one matrix; `pivots`, the row that each row was
// exchanged with in turn; `permutation`, the row of x that became each row. int32, from 0.
struct Lu {
  Array lu, pivots, permutation;
};
FARCALL_API Lu lu(const Array& x);
// The order of `permutation_size` rows after they were exchanged one after the other.
FARCALL_API Array lu_pivots_to_permutation(const Array& pivots, int64_t permutation_size);
// x^-1 b, or x^-T b, from the factors of x.
FARCALL_API Array lu_solve(const Array& lu, const Array& pivots, const Array& b,
                           bool transpose = false);
// The rows of x exchanged as `pivots` says, or back.
FARCALL_API Array exchange_rows(const Array& x, const Array& pivots, bool inverse = false);

// x = Q R with Q orthonormal and R upper triangular; Q is square when full_matrices.
struct Qr {
  Array q, r;
};
FARCALL_API Qr qr(const Array& x, bool full_matrices = true);
// The order in which to take the columns of x so that the diagonal of R falls: each is the one that
// is farthest from those before it.
FARCALL_API Array qr_order(const Array& x);
// Q R = x with its columns in the order of qr_order, int32.
struct PivotedQr {
  Array q, r, order;
};
FARCALL_API PivotedQr pivoted_qr(const Array& x, bool full_matrices = true);
// R above the diagonal, and below it the vectors of the reflections whose product is Q.
struct Geqrf {
  Array a, taus;
};
FARCALL_API Geqrf geqrf(const Array& x);
// The first columns of the product of the reflections, as many as `a` has.
FARCALL_API Array householder_product(const Array& a, const Array& taus);

// The first of the values that are wanted and the one after the last; all if left out.
using Subset = std::optional<std::pair<int64_t, int64_t>>;

// Hermitian x = V diag(w) V^H, w ascending. Reads the lower (upper) triangle, or (x + x^H) / 2.
struct Eigh {
  Array v, w;
};
FARCALL_API Eigh eigh(const Array& x, bool lower = true, bool symmetrize_input = true,
                      const Subset& subset = {});

// x = U diag(s) Vh, s descending; U and Vh are square when full_matrices, which a subset refuses.
struct Svd {
  Array u, s, vh;
};
FARCALL_API Svd svd(const Array& x, bool full_matrices = true, const Subset& subset = {});
FARCALL_API Array singular_values(const Array& x, const Subset& subset = {});

// Complex eigenvalues w with x V = V diag(w), and U^H x = diag(w) U^H; vectors that are not asked
// for are null. Their derivatives exist only where eigenvalues are distinct and must be asked for.
struct Eig {
  Array w, left, right;
};
FARCALL_API Eig eig(const Array& x, bool left = true, bool right = true,
                    bool enable_eigvec_derivs = false);

// x = Q T Q^H, T upper triangular (for real x with blocks of two on the diagonal).
struct Schur {
  Array t, q;  // q null unless asked for
};
FARCALL_API Schur schur(const Array& x, bool vectors = true);

// The solution of op(a) x = b, or of x op(a) = b; the other triangle of `a` is not read.
struct TriangularOptions {
  bool left_side = false;
  bool lower = false;
  bool transpose_a = false;
  bool conjugate_a = false;
  bool unit_diagonal = false;
};
FARCALL_API Array triangular_solve(const Array& a, const Array& b,
                                   const TriangularOptions& options = {});

// a^-1 b; the leading dimensions of `a` and `b` are broadcast.
FARCALL_API Array solve(const Array& a, const Array& b);
FARCALL_API Array inv(const Array& a);
FARCALL_API Array det(const Array& a);
// Sign (a complex number of modulus 1) and log of the modulus.
struct SlogDet {
  Array sign, logabsdet;
};
FARCALL_API SlogDet slogdet(const Array& a);

// The Moore-Penrose inverse; singular values below rcond times the largest count as zero. Left out,
// 10 max(rows, columns) eps.
FARCALL_API Array pinv(const Array& a, const std::optional<Array>& rcond = {},
                       bool hermitian = false);

}  // namespace farcall::linalg
