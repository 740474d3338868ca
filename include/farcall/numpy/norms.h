// Norms of vectors and matrices (namespace farcall::numpy::linalg). Integers become float32.
//
// All raise Error (INVALID_ARGUMENT) for orders and axes that do not fit.
#pragma once

#include <string>
#include <variant>

#include <farcall/core/export.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/array.h>

namespace farcall::numpy::linalg {

// A number, "fro" (Frobenius, the default for matrices) or "nuc" (the sum of singular values).
// Empty: the square root of the sum of squares.
using NormOrder = std::variant<std::monostate, double, std::string>;

// The norm of vectors along the axes. `order` is a number p: the pth root of the sum of pth powers;
// ±inf: the extreme absolute value; 0: the number of nonzero elements.
FARCALL_API Array vector_norm(const Array& x, const Axes& axes = {}, bool keepdims = false,
                              const NormOrder& order = 2.0);
// The norm of the matrices in the last two dimensions. `order` is "fro", "nuc", ±1 and ±inf
// (extreme column and row sum) or ±2 (extreme singular value).
FARCALL_API Array matrix_norm(const Array& x, bool keepdims = false, const NormOrder& order = {});
// The norm of vectors (one axis) or matrices (two axes, rows first). Without axes and order, x is
// one flattened vector.
FARCALL_API Array norm(const Array& x, const NormOrder& order = {}, const Axes& axes = {},
                       bool keepdims = false);

}  // namespace farcall::numpy::linalg
