// Convolution and detrending of signals, with scipy's names (namespace farcall::signal).
//
// Operands are promoted to one float or complex dtype. All raise Error (INVALID_ARGUMENT) naming
// the function for arrays of different ranks or without elements, and for axes out of range.
#pragma once

#include <cstdint>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/numpy/products.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/array.h>

namespace farcall::signal {

// In any number of dimensions. kSame: the size of x, centred. kValid: where both overlap fully; one
// operand must be at least as large as the other in every dimension.
using Mode = numpy::ConvolveMode;
enum class Method { kDirect, kFft };
FARCALL_API Array convolve(const Array& x, const Array& y, Mode mode = Mode::kFull,
                           Method method = Method::kDirect);
// The convolution with the reversed conjugate of y.
FARCALL_API Array correlate(const Array& x, const Array& y, Mode mode = Mode::kFull,
                            Method method = Method::kDirect);
// Of matrices. As in scipy, the kSame result of correlate2d starts one element later than that of
// correlate along a dimension where y has even size.
FARCALL_API Array convolve2d(const Array& x, const Array& y, Mode mode = Mode::kFull);
FARCALL_API Array correlate2d(const Array& x, const Array& y, Mode mode = Mode::kFull);
// Convolution by Fourier transforms along some of the axes; the other axes are broadcast.
FARCALL_API Array fftconvolve(const Array& x, const Array& y, Mode mode = Mode::kFull,
                              const numpy::Axes& axes = {});

enum class Trend { kLinear, kConstant };
struct DetrendOptions {
  int64_t axis = -1;
  Trend trend = Trend::kLinear;           // the least-squares line, or the mean
  std::vector<int64_t> breakpoints = {};  // starts of pieces that are fitted separately
};
// The data minus its trend along an axis.
FARCALL_API Array detrend(const Array& data, const DetrendOptions& options = {});

}  // namespace farcall::signal
