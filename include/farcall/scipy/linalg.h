// Linear algebra with scipy's names that numpy/linalg.h lacks (namespace farcall::scipy::linalg).
//
// Operands are promoted to one float or complex dtype. All take matrices stacked along leading
// dimensions, and raise Error (INVALID_ARGUMENT) naming the function for shapes that do not fit.
#pragma once

#include <cstdint>
#include <utility>

#include <farcall/core/export.h>
#include <farcall/linalg/linalg.h>
#include <farcall/trace/array.h>

namespace farcall::scipy::linalg {

// op(a) is `a`, its transpose or its adjoint.
enum class Op { kNone, kTranspose, kAdjoint };

// op(a)^-1 b for triangular `a`; only one triangle is read. b is a vector if it has one
// dimension, else a stack of matrices; the leading dimensions of both are broadcast.
struct SolveTriangularOptions {
  Op op = Op::kNone;
  bool lower = false;
  bool unit_diagonal = false;  // the diagonal is taken to be ones
};
FARCALL_API Array solve_triangular(const Array& a, const Array& b,
                                   const SolveTriangularOptions& options = {});
// a^-1 b from the Cholesky factor c of `a`, lower (a = c c^H) or upper (a = c^H c); broadcasts like
// solve_triangular.
FARCALL_API Array cho_solve(const Array& c, bool lower, const Array& b);

// See farcall::linalg::lu. lu_solve computes op(a)^-1 b from the factors and pivots.
FARCALL_API farcall::linalg::Lu lu_factor(const Array& a);
FARCALL_API Array lu_solve(const Array& factors, const Array& pivots, const Array& b,
                           Op op = Op::kNone);
// a = p l u: p is a real permutation matrix, l unit lower triangular, u upper triangular.
struct Plu {
  Array p, l, u;
};
FARCALL_API Plu lu(const Array& a);

// a = q r. With `pivoting`, q r are the columns of `a` in the order `order` (int32, else null), and
// the diagonal of r decreases. q is square if `full`.
struct QrOptions {
  bool full = true;
  bool pivoting = false;
};
struct OrderedQr {
  Array q, r, order;
};
FARCALL_API OrderedQr qr(const Array& a, const QrOptions& options = {});

// See farcall::linalg::schur. If `as_complex`, real matrices are converted to complex ones first.
FARCALL_API farcall::linalg::Schur schur(const Array& a, bool as_complex = false);

// The matrix exponential, the sum of a^k / k!. NaN for matrices so large that they need more than
// `max_squarings`.
struct ExpmOptions {
  bool upper_triangular = false;  // `a` is upper triangular
  int64_t max_squarings = 16;     // of the method of scaling and squaring
};
FARCALL_API Array expm(const Array& a, const ExpmOptions& options = {});
// The exponential of `a` and its derivative in the direction e.
FARCALL_API std::pair<Array, Array> expm_frechet(const Array& a, const Array& e);

// The function of a matrix z t z^H, with its complex Schur form, whose values at the diagonal of t
// are given; and an estimate of the relative error, which grows where eigenvalues nearly coincide.
struct MatrixFunction {
  Array value, error;
};
FARCALL_API MatrixFunction funm(const Array& t, const Array& z, const Array& values);
// The complex Schur form from the real one; the leading dimensions of both are broadcast.
FARCALL_API farcall::linalg::Schur rsf2csf(const Array& t, const Array& z);
// a = q h q^H with q unitary and h zero below the first subdiagonal; neither has a derivative.
struct UnitaryForm {
  Array h, q;
};
FARCALL_API UnitaryForm hessenberg(const Array& a);
// The eigenvalues and eigenvectors of one Hermitian matrix with diagonal d, [n], and superdiagonal
// e, [n - 1].
FARCALL_API farcall::linalg::Eigh eigh_tridiagonal(const Array& d, const Array& e,
                                                   const farcall::linalg::Subset& subset = {});
// The product q c (`from_left`) or c q of the factor of a = q r, which has as many columns as rank;
// r; and the order of the columns with `pivoting`. A vector c is one column, or one row.
struct QrMultiplyOptions {
  bool from_left = false;
  bool pivoting = false;
  bool conjugate = false;  // of q
};
struct QrProduct {
  Array product, r, order;
};
FARCALL_API QrProduct qr_multiply(const Array& a, const Array& c,
                                  const QrMultiplyOptions& options = {});

// The principal square root, complex, by the Schur form; it has no derivative.
FARCALL_API Array sqrtm(const Array& a);
// x with a x + x b = c, by the Schur forms of `a` and b; it has no derivative. NaN if the sum of an
// eigenvalue of `a` and one of b is smaller than `tol`.
FARCALL_API Array solve_sylvester(const Array& a, const Array& b, const Array& c,
                                  double tol = 1e-8);

}  // namespace farcall::scipy::linalg
