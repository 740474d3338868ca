// Matrices of special forms, by scipy's names (namespace farcall::linalg).
//
// All raise Error (INVALID_ARGUMENT) naming the function for operands that do not fit. Vectors are
// flattened.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/array.h>

namespace farcall::linalg {

// Matrices along the diagonal of one, zeros elsewhere; vectors count as one row.
FARCALL_API Array block_diag(ListOf<Array> blocks);
// First column c and first row r (the conjugate of c by default), constant along diagonals.
FARCALL_API Array toeplitz(const Array& c, const std::optional<Array>& r = {});
// First column c and last row r (zeros by default), constant along antidiagonals.
FARCALL_API Array hankel(const Array& c, const std::optional<Array>& r = {});
// First column c, each other being the one before moved down by one.
FARCALL_API Array circulant(const Array& c);
// The matrix of which a polynomial, highest power first, is the characteristic one.
FARCALL_API Array companion(const Array& a);
FARCALL_API Array hilbert(int64_t n);  // 1 / (i + j + 1)
// By Sylvester; n is a power of two.
FARCALL_API Array hadamard(int64_t n, DType dtype = DType::kInt32);
// The discrete Fourier transform, divided by sqrt(n) for "sqrtn", by n for "n".
FARCALL_API Array dft(int64_t n, std::optional<std::string_view> scale = {});

// a = u p ("right") or p u ("left"), u orthonormal and p positive semidefinite.
struct Polar {
  Array u, p;
};
FARCALL_API Polar polar(const Array& a, std::string_view side = "right");

}  // namespace farcall::linalg
