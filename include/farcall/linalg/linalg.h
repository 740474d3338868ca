// Linear algebra (namespace farcall::linalg): factorizations by foreign calls of LAPACK, and
// functions based on them. All take matrices stacked along any number of leading dimensions, of
// float32, float64, complex64 or complex128, and can be recorded and batched. All can be
// differentiated, except geqrf, hessenberg, householder_product, schur and tridiagonal. The sources
// of the derivatives are named where they are computed (src/linalg/).
//
// Shapes below are those of one matrix: x is [m, n], and k is the smaller of m and n. Functions of
// square matrices raise for others. The leading dimensions come first in all operands and results.
//
// All raise Error (INVALID_ARGUMENT) naming the function if the operands do not fit. If a
// factorization fails (the matrix is not positive definite, an iteration does not converge), the
// results for that matrix are NaN.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <farcall/core/export.h>
#include <farcall/trace/array.h>

namespace farcall::linalg {

// The lower triangular L with L L^H = x. Reads the lower triangle of x, or (x + x^H) / 2 if
// `symmetrize_input`.
FARCALL_API Array cholesky(const Array& x, bool symmetrize_input = true);

// P x = L U. `lu` holds L (whose unit diagonal is not stored) and U. pivots[i] is the row that was
// exchanged with row i, in order of i. permutation[i] is the row of x that became row i. Both are
// int32 and count from 0. lu is [m, n], pivots [k], permutation [m].
struct Lu {
  Array lu, pivots, permutation;
};
FARCALL_API Lu lu(const Array& x);
// The permutation of `permutation_size` rows that results from these row exchanges.
FARCALL_API Array lu_pivots_to_permutation(const Array& pivots, int64_t permutation_size);
// x^-1 b, or x^-T b if `transpose`, from the LU factors of x. b is [n, j] or [n].
FARCALL_API Array lu_solve(const Array& lu, const Array& pivots, const Array& b,
                           bool transpose = false);
// Exchanges the rows of x as `pivots` says, or undoes it if `inverse`.
FARCALL_API Array exchange_rows(const Array& x, const Array& pivots, bool inverse = false);

// x = Q R with Q orthonormal, [m, k], and R upper triangular, [k, n]. If full_matrices, Q is [m, m]
// and R [m, n]; this has no derivative if m > n.
struct Qr {
  Array q, r;
};
FARCALL_API Qr qr(const Array& x, bool full_matrices = true);
// An order of the columns of x for which the diagonal of R decreases: each column is the one
// farthest from the span of those before it. int32 [n].
FARCALL_API Array qr_order(const Array& x);
// Q R is x with its columns in the order `order`; see qr_order.
struct PivotedQr {
  Array q, r, order;
};
FARCALL_API PivotedQr pivoted_qr(const Array& x, bool full_matrices = true);
// The QR decomposition in LAPACK's form. `a`, [m, n], holds R in its upper triangle and the
// Householder vectors below the diagonal. Q is the product of their reflections, whose factors are
// `taus`, [k].
struct Geqrf {
  Array a, taus;
};
FARCALL_API Geqrf geqrf(const Array& x);
// The first columns of the product of the Householder reflections, as many as `a` has.
FARCALL_API Array householder_product(const Array& a, const Array& taus);
// Q c, or c Q unless `left`, with the square Q of these reflections, or its adjoint if `transpose`.
struct OrmqrOptions {
  bool left = true;
  bool transpose = false;
};
FARCALL_API Array ormqr(const Array& a, const Array& taus, const Array& c,
                        const OrmqrOptions& options = {});

// A range of values: the first and one past the last; default: all.
using Subset = std::optional<std::pair<int64_t, int64_t>>;

// Hermitian x = V diag(w) V^H. w is [n], real and ascending; the eigenvectors are the columns of V,
// [n, n]. Reads the lower (upper) triangle, or (x + x^H) / 2 if `symmetrize_input`.
struct Eigh {
  Array v, w;
};
FARCALL_API Eigh eigh(const Array& x, bool lower = true, bool symmetrize_input = true,
                      const Subset& subset = {});

// x = U diag(s) Vh. s is [k], real and descending; U is [m, k] and Vh [k, n]. If full_matrices,
// which excludes a subset, U is [m, m] and Vh [n, n]; these have no derivatives unless m = n.
struct Svd {
  Array u, s, vh;
};
FARCALL_API Svd svd(const Array& x, bool full_matrices = true, const Subset& subset = {});
FARCALL_API Array singular_values(const Array& x, const Subset& subset = {});

// Complex eigenvalues w with x V = V diag(w) and U^H x = diag(w) U^H; V is `right`, U is `left`.
// Vectors that are not requested are null. Derivatives of the vectors exist only if the eigenvalues
// are distinct; `enable_eigvec_derivs` enables them.
struct Eig {
  Array w, left, right;
};
FARCALL_API Eig eig(const Array& x, bool left = true, bool right = true,
                    bool enable_eigvec_derivs = false);

// x = Q T Q^H with T upper triangular (for real x, with diagonal blocks of size 1 or 2).
struct Schur {
  Array t, q;  // null unless requested
};
FARCALL_API Schur schur(const Array& x, bool vectors = true);

// Square x = Q H Q^H with H zero below the first subdiagonal. `a` holds H and, below, the
// Householder vectors of Q, whose factors are `taus`, [n - 1].
struct Hessenberg {
  Array a, taus;
};
FARCALL_API Hessenberg hessenberg(const Array& x);
// Hermitian x = Q T Q^H with the real tridiagonal T, which has the diagonal d, [n], and beside it
// e, [n - 1]. Reads and overwrites the lower (upper) triangle: `a` holds T and the Householder
// vectors of Q, whose factors are `taus`, [n - 1].
struct Tridiagonal {
  Array a, d, e, taus;
};
FARCALL_API Tridiagonal tridiagonal(const Array& x, bool lower = true);

// x of x[i - 1] dl[i] + x[i] d[i] + x[i + 1] du[i] = b[i], where the first dl and the last du are
// ignored. The diagonals are [n], b is [n, k]. With `perturb_singular`, tiny pivots are enlarged,
// so that x is finite for singular matrices.
FARCALL_API Array tridiagonal_solve(const Array& dl, const Array& d, const Array& du,
                                    const Array& b, bool perturb_singular = false);

// alpha a a^T + beta c for real a, [m, n], and symmetric c, [m, m].
struct SymmetricProductOptions {
  double alpha = 1, beta = 0;
  bool symmetrize_output = false;  // replace the upper triangle by the transposed lower one
};
FARCALL_API Array symmetric_product(const Array& a, const Array& c,
                                    const SymmetricProductOptions& options = {});
// The upper triangular S with S^T S = r^T r + w w^T; r is real and upper triangular, w [n].
FARCALL_API Array cholesky_update(const Array& r, const Array& w);

// One matrix x = U H by the QR-based dynamically weighted Halley iteration: U has orthonormal
// columns, H is positive semidefinite. Ends when a step changes U by less than (4 eps)^(1/3) of its
// size. eps defaults to the precision of the dtype, max_iterations to 10.
struct QdwhOptions {
  std::optional<int64_t> max_iterations = {};
  std::optional<double> eps = {};
};
struct PolarIteration {
  Array u, h, iterations, is_converged;
};
FARCALL_API PolarIteration qdwh(const Array& x, const QdwhOptions& options = {});

// Solves op(a) x = b, or x op(a) = b unless left_side. Only one triangle of `a` is read. b is a
// matrix, or a vector that stands for one column (left_side) or row.
struct TriangularOptions {
  bool left_side = false;
  bool lower = false;
  bool transpose_a = false;
  bool conjugate_a = false;
  bool unit_diagonal = false;
};
FARCALL_API Array triangular_solve(const Array& a, const Array& b,
                                   const TriangularOptions& options = {});

// a^-1 b for square `a`. b is a vector if it has one dimension, else a stack of matrices; the
// leading dimensions of `a` and `b` are broadcast.
FARCALL_API Array solve(const Array& a, const Array& b);
FARCALL_API Array inv(const Array& a);
FARCALL_API Array det(const Array& a);
// The sign of the determinant (complex: a number of modulus 1) and the logarithm of its modulus.
struct SlogDet {
  Array sign, logabsdet;
};
FARCALL_API SlogDet slogdet(const Array& a);

// The Moore-Penrose inverse. Singular values below rcond times the largest count as zero; rcond
// defaults to 10 max(rows, columns) eps.
FARCALL_API Array pinv(const Array& a, const std::optional<Array>& rcond = {},
                       bool hermitian = false);

}  // namespace farcall::linalg
