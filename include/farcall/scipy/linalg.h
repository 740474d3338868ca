// Linear algebra by scipy's names, beyond numpy/linalg.h (namespace farcall::scipy::linalg).
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

// What op(a) is: `a`, its transpose or its adjoint.
enum class Op { kNone, kTranspose, kAdjoint };

// op(a)^-1 b for triangular `a`, whose other triangle is not read. b is a vector if it has one
// dimension, else matrices; the leading dimensions of both are broadcast.
struct SolveTriangularOptions {
  Op op = Op::kNone;
  bool lower = false;
  bool unit_diagonal = false;  // the diagonal counts as ones
};
FARCALL_API Array solve_triangular(const Array& a, const Array& b,
                                   const SolveTriangularOptions& options = {});
// a^-1 b from the Cholesky factor c of `a`, lower (a = c c^H) or upper (a = c^H c); broadcasts too.
FARCALL_API Array cho_solve(const Array& c, bool lower, const Array& b);

// See farcall::linalg::lu, and op(a)^-1 b from its factors and pivots.
FARCALL_API farcall::linalg::Lu lu_factor(const Array& a);
FARCALL_API Array lu_solve(const Array& factors, const Array& pivots, const Array& b,
                           Op op = Op::kNone);
// a = p l u: a permutation, of real numbers, unit lower and upper triangular matrices.
struct Plu {
  Array p, l, u;
};
FARCALL_API Plu lu(const Array& a);

// `a`, with its columns in the order that is asked for with `pivoting`, is q r; the diagonal of r
// then falls. q is square if `full`; `order`, int32, is null without `pivoting`.
struct QrOptions {
  bool full = true;
  bool pivoting = false;
};
struct OrderedQr {
  Array q, r, order;
};
FARCALL_API OrderedQr qr(const Array& a, const QrOptions& options = {});

// See farcall::linalg::schur; real matrices are taken for complex ones first if `as_complex`.
FARCALL_API farcall::linalg::Schur schur(const Array& a, bool as_complex = false);

// The sum of a^k / k!. NaN for matrices so large that they take more than `max_squarings`.
struct ExpmOptions {
  bool upper_triangular = false;  // `a` is known to be
  int64_t max_squarings = 16;     // how often a matrix is halved, and its exponential squared
};
FARCALL_API Array expm(const Array& a, const ExpmOptions& options = {});
// The exponential of `a` and its derivative in the direction e.
FARCALL_API std::pair<Array, Array> expm_frechet(const Array& a, const Array& e);

}  // namespace farcall::scipy::linalg
