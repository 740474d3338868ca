// Matrices of special forms, with scipy's names (namespace farcall::linalg).
//
// All raise Error (INVALID_ARGUMENT) naming the function if the operands do not fit. Vectors may be
// stacked along leading dimensions, which are broadcast; a scalar is a vector of one element.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/array.h>

namespace farcall::linalg {

// A block-diagonal matrix; a vector is a block of one row.
FARCALL_API Array block_diag(ListOf<Array> blocks);
// First column c and first row r (default: the conjugate of c), constant along diagonals.
FARCALL_API Array toeplitz(const Array& c, const std::optional<Array>& r = {});
// First column c and last row r (default: zeros), constant along antidiagonals.
FARCALL_API Array hankel(const Array& c, const std::optional<Array>& r = {});
// The first column is c; each further column is the previous one rotated down by one.
FARCALL_API Array circulant(const Array& c);
// The companion matrix of a polynomial, whose coefficients start with the highest power.
FARCALL_API Array companion(const Array& a);
// The companion matrix in Fiedler's form, with five diagonals.
FARCALL_API Array fiedler_companion(const Array& a);
// First row f and subdiagonal s, which has an element less.
FARCALL_API Array leslie(const Array& f, const Array& s);
// The matrix whose product with a vector of n elements is its convolution with `a`; the mode is
// "full", "same" or "valid".
FARCALL_API Array convolution_matrix(const Array& a, int64_t n, std::string_view mode = "full");
FARCALL_API Array hilbert(int64_t n);  // 1 / (i + j + 1)
FARCALL_API Array invhilbert(int64_t n);
// Orthonormal rows; row k, from 1 on, is k ones and -k, normalized. Row 0, of equal elements, is
// left out unless `full`.
FARCALL_API Array helmert(int64_t n, bool full = false);
// Sylvester's construction; n is a power of two.
FARCALL_API Array hadamard(int64_t n, DType dtype = DType::kInt32);
// The symmetric matrix of the binomials (i + j over i), or its Cholesky factors: "lower", (i over
// j), or "upper"; float32.
FARCALL_API Array pascal(int64_t n, std::string_view kind = "symmetric");
FARCALL_API Array invpascal(int64_t n, std::string_view kind = "symmetric");
// |a_i - a_j| for all pairs of elements of the vectors in the last dimension.
FARCALL_API Array fiedler(const Array& a);
// The matrix of the discrete Fourier transform, divided by sqrt(n) for "sqrtn", by n for "n".
FARCALL_API Array dft(int64_t n, std::optional<std::string_view> scale = {});

// a = u p ("right") or p u ("left"); u is orthonormal and p positive semidefinite.
struct Polar {
  Array u, p;
};
FARCALL_API Polar polar(const Array& a, std::string_view side = "right");

}  // namespace farcall::linalg
