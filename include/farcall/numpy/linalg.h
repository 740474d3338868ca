// Linear algebra with numpy's meaning (namespace farcall::numpy::linalg): farcall::linalg for
// operands of any dtypes, which are promoted; integers become floats. More in numpy/norms.h.
//
// All take matrices stacked along any number of leading dimensions, and raise Error
// (INVALID_ARGUMENT) naming the function for shapes that do not fit. A matrix for which a
// factorisation fails gives NaN.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/linalg/linalg.h>
#include <farcall/numpy/norms.h>
#include <farcall/trace/array.h>

namespace farcall::numpy::linalg {

// ---- factorisations; results as those of farcall::linalg ----
// The lower triangular L with a = L L^H, or its adjoint. Takes the mean of `a` and its adjoint
// first if `symmetrize_input`.
FARCALL_API Array cholesky(const Array& a, bool upper = false, bool symmetrize_input = true);
// Q is square if `complete`.
FARCALL_API farcall::linalg::Qr qr(const Array& a, bool complete = false);
// The reflections and their factors, as LAPACK gives them; the former transposed.
FARCALL_API farcall::linalg::Geqrf raw_qr(const Array& a);

struct SvdOptions {
  bool full_matrices = true;
  bool hermitian = false;  // `a` is known to be Hermitian, which is faster
  // The first singular value and the one after the last, in descending order; needs
  // full_matrices = false.
  farcall::linalg::Subset subset = {};
};
FARCALL_API farcall::linalg::Svd svd(const Array& a, const SvdOptions& options = {});
// Descending; full_matrices changes nothing.
FARCALL_API Array svdvals(const Array& a, const SvdOptions& options = {});
// Reads the lower or the upper triangle unless `symmetrize_input`; eigenvalues ascend.
FARCALL_API farcall::linalg::Eigh eigh(const Array& a, bool lower = true,
                                       bool symmetrize_input = true);
// Complex, in no order; `left` is null.
FARCALL_API farcall::linalg::Eig eig(const Array& a);
FARCALL_API Array eigvals(const Array& a);

// ---- systems ----
// a^-1 b; b is a vector if it has one dimension, else matrices.
FARCALL_API Array solve(const Array& a, const Array& b);
FARCALL_API Array inv(const Array& a);
// See farcall::linalg::pinv.
FARCALL_API Array pinv(const Array& a, const std::optional<Array>& rcond = {},
                       bool hermitian = false);

struct LstsqOptions {
  // Singular values below this part of the largest count as zero; left out or negative,
  // max(rows, columns) eps.
  std::optional<double> rcond = {};
  // Leaves residuals out where numpy does: [0] unless there are more rows than columns and the rank
  // is full. The rank must then be known, else ConcretizationError is raised.
  bool numpy_residuals = false;
};
struct Lstsq {
  Array x, residuals, rank, s;
};
// The shortest x for which a x is nearest to b, the squared lengths of a x - b by columns, rank and
// singular values of `a`. One matrix `a`; b is a vector or a matrix.
FARCALL_API Lstsq lstsq(const Array& a, const Array& b, const LstsqOptions& options = {});

// The inverse of the linear map that tensordot(a, x, ind) is; `ind` is positive.
FARCALL_API Array tensorinv(const Array& a, int64_t ind = 2);
// x with tensordot(a, x, x.rank()) = b, after `axes` of `a` were moved to its end.
FARCALL_API Array tensorsolve(const Array& a, const Array& b, ListOf<int64_t> axes = {});

// ---- numbers of a matrix ----
FARCALL_API Array det(const Array& a);
FARCALL_API farcall::linalg::SlogDet slogdet(const Array& a);
// How many singular values are larger than rtol, max(rows, columns) eps if left out, times the
// largest; of a vector or a scalar, whether an element is not zero. A default integer.
FARCALL_API Array matrix_rank(const Array& m, const std::optional<Array>& rtol = {},
                              bool hermitian = false);
// The norm of x, as of matrix_norm, times that of its inverse; left out, the ratio of the extreme
// singular values.
FARCALL_API Array cond(const Array& x, const NormOrder& order = {});

// ---- products ----
// `a` multiplied with itself n times, or its inverse -n times.
FARCALL_API Array matrix_power(const Array& a, int64_t n);
// The product of two or more matrices in the order that needs the fewest multiplications; the first
// and the last may be vectors.
FARCALL_API Array multi_dot(ListOf<Array> arrays);
// Of vectors of three elements along `axis` of both.
FARCALL_API Array cross(const Array& x, const Array& y, int64_t axis = -1);

// ---- diagonals ----
FARCALL_API Array matrix_transpose(const Array& x);
// As the last dimension.
FARCALL_API Array diagonal(const Array& x, int64_t offset = 0);
// The sum of the diagonal, of elements of this dtype if one is given.
FARCALL_API Array trace(const Array& x, int64_t offset = 0, std::optional<DType> dtype = {});

}  // namespace farcall::numpy::linalg
