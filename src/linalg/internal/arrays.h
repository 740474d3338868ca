// Small functions of matrices, stacked along leading dimensions, from which the functions and the
// derivatives of this layer are made.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include <farcall/linalg/linalg.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/trace/array.h>

namespace farcall::linalg {

using numpy::matmul;

// Raise INVALID_ARGUMENT naming `function` unless x is an array of (square) matrices, of a dtype
// that LAPACK has.
void check_matrices(std::string_view function, const Array& x);
void check_square(std::string_view function, const Array& x);
// Raises unless both have the same leading dimensions and dtype.
void check_alike(std::string_view function, const Array& a, const Array& b);
// Raises unless `size`, of the right-hand sides b, is that of the square matrices a.
void check_sizes(std::string_view function, const Array& a, const Array& b, int64_t size);

inline int64_t rows(const Array& x) { return x.shape()[x.rank() - 2]; }
inline int64_t columns(const Array& x) { return x.shape()[x.rank() - 1]; }
// The dimensions of `type` but the last `dropped`, then `last`.
Shape with_last(ShapeDtype type, size_t dropped, std::initializer_list<int64_t> last);
DType real_dtype(DType dtype);
DType complex_dtype(DType dtype);

Array conj(const Array& x);
Array transposed(const Array& x);
Array adjoint(const Array& x);
// (x + x^H) / 2
Array symmetrized(const Array& x);
// A part of the last dimension. Raises INVALID_ARGUMENT naming `function` where it is none.
Array last_part(std::string_view function, const Array& x, const Subset& part);
// The main diagonal of each matrix, as the last dimension.
Array diagonal(const Array& x);
Array eye(int64_t size, DType dtype);
// Rows (columns) start up to before end.
Array row_block(const Array& x, int64_t start, int64_t end);
Array column_block(const Array& x, int64_t start, int64_t end);
// A vector as a matrix of one column, one row.
Array as_column(const Array& x);
Array as_row(const Array& x);
// A scalar of int32 or of a dtype that LAPACK has.
Array number(double value, DType dtype);

}  // namespace farcall::linalg
