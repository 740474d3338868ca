// Helper functions on stacks of matrices, for the functions and derivatives of this folder.
#pragma once

#include <initializer_list>
#include <string_view>

#include <farcall/linalg/linalg.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/trace/array.h>

#include "ops/internal/type_rules.h"

namespace farcall::linalg {

using numpy::matmul;

// Raise INVALID_ARGUMENT naming `function` unless x is a stack of (square) matrices of a LAPACK
// dtype.
void check_matrices(std::string_view function, const Array& x);
void check_square(std::string_view function, const Array& x);
// Raises unless a and b have the same leading dimensions and dtype.
void check_alike(std::string_view function, const Array& a, const Array& b);
// Raises unless `size`, the size of the right-hand sides b, is that of the square matrices a.
void check_sizes(std::string_view function, const Array& a, const Array& b, int64_t size);

inline int64_t rows(const Array& x) { return x.shape()[x.rank() - 2]; }
inline int64_t columns(const Array& x) { return x.shape()[x.rank() - 1]; }
// The shape of `type` with the last `dropped` dimensions replaced by `last`.
Shape with_last(ShapeDtype type, size_t dropped, std::initializer_list<int64_t> last);
using farcall::complex_dtype;
using farcall::real_dtype;

Array conj(const Array& x);
Array transposed(const Array& x);
Array adjoint(const Array& x);
// (x + x^H) / 2
Array symmetrized(const Array& x);
// A range of the last dimension. Raises INVALID_ARGUMENT naming `function` for an invalid range.
Array last_part(std::string_view function, const Array& x, const Subset& part);
// The main diagonals, as the last dimension.
Array diagonal(const Array& x);
Array eye(int64_t size, DType dtype);
// Rows (columns) from start to before end.
Array row_block(const Array& x, int64_t start, int64_t end);
Array column_block(const Array& x, int64_t start, int64_t end);
// A vector as a matrix with one column, or with one row.
Array as_column(const Array& x);
Array as_row(const Array& x);
// A scalar of int32 or of a LAPACK dtype.
Array number(double value, DType dtype);

}  // namespace farcall::linalg
