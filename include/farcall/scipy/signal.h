// Convolutions of signals and trends, by scipy's names (namespace farcall::signal).
//
// Operands are promoted to one float or complex dtype. All raise Error (INVALID_ARGUMENT) naming
// the function for arrays of different ranks or without elements, and axes that there are not.
#pragma once

#include <cstdint>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/numpy/products.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/array.h>

namespace farcall::signal {

// In any number of dimensions. kSame: of the size of x, from the middle; kValid: where both overlap
// wholly, for which one must be at least as large as the other in every dimension.
using Mode = numpy::ConvolveMode;
enum class Method { kDirect, kFft };
FARCALL_API Array convolve(const Array& x, const Array& y, Mode mode = Mode::kFull,
                           Method method = Method::kDirect);
// The convolution with the conjugate of y, reversed.
FARCALL_API Array correlate(const Array& x, const Array& y, Mode mode = Mode::kFull,
                            Method method = Method::kDirect);
// Of matrices. As scipy has it, correlate2d of kSame begins one place later than correlate does
// where a size of y is even.
FARCALL_API Array convolve2d(const Array& x, const Array& y, Mode mode = Mode::kFull);
FARCALL_API Array correlate2d(const Array& x, const Array& y, Mode mode = Mode::kFull);
// By Fourier transforms, over some of the axes; sizes along the others are broadcast.
FARCALL_API Array fftconvolve(const Array& x, const Array& y, Mode mode = Mode::kFull,
                              const numpy::Axes& axes = {});

enum class Trend { kLinear, kConstant };
struct DetrendOptions {
  int64_t axis = -1;
  Trend trend = Trend::kLinear;           // the line of least squares, or the mean
  std::vector<int64_t> breakpoints = {};  // where pieces with lines of their own begin
};
// The data less its trend along an axis.
FARCALL_API Array detrend(const Array& data, const DetrendOptions& options = {});

}  // namespace farcall::signal
