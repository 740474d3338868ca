// Linear algebra with numpy's semantics (namespace farcall::numpy::linalg): farcall::linalg for
// operands of any dtypes. Operands are promoted; integers become floats. More in numpy/norms.h.
//
// All take matrices stacked along any number of leading dimensions, and raise Error
// (INVALID_ARGUMENT) naming the function for shapes that do not fit. If the factorization of a
// matrix fails, its results are NaN.
#pragma once

#include <cstdint>
#include <optional>

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/linalg/linalg.h>
#include <farcall/numpy/norms.h>
#include <farcall/trace/array.h>

namespace farcall::numpy::linalg {

// ---- factorizations; results as in farcall::linalg ----
// The lower triangular L with a = L L^H, or its adjoint if `upper`. With `symmetrize_input`, `a` is
// first replaced by the mean of `a` and its adjoint.
FARCALL_API Array cholesky(const Array& a, bool upper = false, bool symmetrize_input = true);
// Q is square if `complete`.
FARCALL_API farcall::linalg::Qr qr(const Array& a, bool complete = false);
// The Householder vectors and factors of farcall::linalg::geqrf. The matrix of the vectors is
// transposed, as numpy's mode "raw" returns it.
FARCALL_API farcall::linalg::Geqrf raw_qr(const Array& a);

struct SvdOptions {
  bool full_matrices = true;
  bool hermitian = false;  // `a` is Hermitian; this is faster
  // A range of singular values in descending order: the first and one past the last. Needs
  // full_matrices = false.
  farcall::linalg::Subset subset = {};
};
FARCALL_API farcall::linalg::Svd svd(const Array& a, const SvdOptions& options = {});
// In descending order; full_matrices has no effect.
FARCALL_API Array svdvals(const Array& a, const SvdOptions& options = {});
// Reads only the lower or the upper triangle, unless `symmetrize_input`. Eigenvalues are in
// ascending order.
FARCALL_API farcall::linalg::Eigh eigh(const Array& a, bool lower = true,
                                       bool symmetrize_input = true);
// Complex, in unspecified order; `left` is null.
FARCALL_API farcall::linalg::Eig eig(const Array& a);
FARCALL_API Array eigvals(const Array& a);

// ---- systems ----
// a^-1 b. b is a vector if it has one dimension, else a stack of matrices.
FARCALL_API Array solve(const Array& a, const Array& b);
FARCALL_API Array inv(const Array& a);
// See farcall::linalg::pinv.
FARCALL_API Array pinv(const Array& a, const std::optional<Array>& rcond = {},
                       bool hermitian = false);

struct LstsqOptions {
  // Singular values below this fraction of the largest count as zero. Default, also for negative
  // values: max(rows, columns) eps.
  std::optional<double> rcond = {};
  // Omits residuals as numpy does: they have the shape [0] unless there are more rows than columns
  // and the rank is full. The rank must then be known, else raises ConcretizationError.
  bool numpy_residuals = false;
};
struct Lstsq {
  Array x, residuals, rank, s;
};
// The least-squares solution x of minimal norm, the squared residuals of each column, the rank and
// the singular values of `a`. `a` is one matrix; b is a vector or a matrix.
FARCALL_API Lstsq lstsq(const Array& a, const Array& b, const LstsqOptions& options = {});

// The inverse of the linear map x -> tensordot(a, x, ind); `ind` is positive.
FARCALL_API Array tensorinv(const Array& a, int64_t ind = 2);
// x with tensordot(a, x, x.rank()) = b, after moving `axes` of `a` to its end.
FARCALL_API Array tensorsolve(const Array& a, const Array& b, ListOf<int64_t> axes = {});

// ---- scalars of a matrix ----
FARCALL_API Array det(const Array& a);
FARCALL_API farcall::linalg::SlogDet slogdet(const Array& a);
// The number of singular values above rtol times the largest; rtol defaults to max(rows, columns)
// eps. For a vector or a scalar: 1 if any element is nonzero. The result is a default integer.
FARCALL_API Array matrix_rank(const Array& m, const std::optional<Array>& rtol = {},
                              bool hermitian = false);
// The product of the norms (matrix_norm) of x and its inverse; without `order`, the ratio of the
// extreme singular values.
FARCALL_API Array cond(const Array& x, const NormOrder& order = {});

// ---- products ----
// The nth power of `a`; for negative n, the -nth power of its inverse.
FARCALL_API Array matrix_power(const Array& a, int64_t n);
// The product of two or more matrices in the order with the fewest multiplications. The first and
// the last may be vectors.
FARCALL_API Array multi_dot(ListOf<Array> arrays);
// The cross product of vectors of three elements along `axis` of both operands.
FARCALL_API Array cross(const Array& x, const Array& y, int64_t axis = -1);

// ---- diagonals ----
FARCALL_API Array matrix_transpose(const Array& x);
// The diagonal becomes the last dimension.
FARCALL_API Array diagonal(const Array& x, int64_t offset = 0);
// The sum of the diagonal; `dtype` is the dtype of the elements and the result.
FARCALL_API Array trace(const Array& x, int64_t offset = 0, std::optional<DType> dtype = {});

}  // namespace farcall::numpy::linalg
