// Discrete cosine transforms of type 2 and their inverses, with scipy's names (namespace
// farcall::scipy::fft). Integers become floats; the parts of complex numbers are transformed.
//
// The axis is first truncated or padded with zeros to size `n`. All raise Error (INVALID_ARGUMENT)
// naming the function for an axis out of range and for n < 1.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/array.h>

namespace farcall::scipy::fft {

// Element k is twice the sum of x_i cos(pi k (2 i + 1) / 2 n). If `is_orthonormal`, the transform
// is divided by sqrt(2 n), and its first element by another sqrt(2).
FARCALL_API Array dct(const Array& x, std::optional<int64_t> n = {}, int64_t axis = -1,
                      bool is_orthonormal = false);
FARCALL_API Array idct(const Array& x, std::optional<int64_t> n = {}, int64_t axis = -1,
                       bool is_orthonormal = false);

// Along several axes: the last s.size() ones without `axes`, without both all.
FARCALL_API Array dctn(const Array& x, const std::optional<std::vector<int64_t>>& s = {},
                       const numpy::Axes& axes = {}, bool is_orthonormal = false);
FARCALL_API Array idctn(const Array& x, const std::optional<std::vector<int64_t>>& s = {},
                        const numpy::Axes& axes = {}, bool is_orthonormal = false);

}  // namespace farcall::scipy::fft
