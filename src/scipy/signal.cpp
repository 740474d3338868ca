#include <farcall/scipy/signal.h>

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/sizes.h>
#include <farcall/numpy/fft.h>
#include <farcall/ops/convolution.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>

#include "ops/internal/numpy.h"

namespace farcall::signal {
namespace {

// Promotes both signals to one float or complex dtype.
std::pair<Array, Array> signals(const Array& x, const Array& y, const char* function) {
  if (x.rank() != y.rank()) {
    invalid_argument(fmt::format("{}: in1 and in2 must have one rank, got {} and {}", function,
                                 x.rank(), y.rank()));
  }
  const ShapeDtype types[] = {x.type(), y.type()};
  const DType dtype = with_error_prefix(function, [&] { return promote_to_inexact(types).dtype; });
  return {numpy::astype(x, dtype), numpy::astype(y, dtype)};
}

bool is_smaller_somewhere(const Array& x, const Array& y) {
  return !std::ranges::equal(x.shape(), y.shape(), std::greater_equal<>());
}

[[noreturn]] void refuse_sizes(const Array& x, const Array& y, const char* function) {
  invalid_argument(fmt::format(
      "{}: one input must be at least as large as the other in every dimension, got {} and {}",
      function, shape_to_string(x.shape()), shape_to_string(y.shape())));
}

// With `is_late`, the kSame result starts one element later along dimensions where y has even size.
Array slide_over(Array x, Array y, Mode mode, const char* function, bool is_late = false) {
  if (x.size() == 0 || y.size() == 0) {
    invalid_argument(fmt::format("{}: inputs must not be empty, got {} and {}", function,
                                 shape_to_string(x.shape()), shape_to_string(y.shape())));
  }
  if (mode == Mode::kValid && is_smaller_somewhere(x, y)) {
    if (is_smaller_somewhere(y, x)) refuse_sizes(x, y, function);
    std::swap(x, y);
  }
  if (x.rank() == 0) return x * y;
  Padding pads;
  for (const int64_t size : y.shape()) {
    std::pair<int64_t, int64_t> pad = {0, 0};
    if (mode == Mode::kFull) pad = {size - 1, size - 1};
    if (mode == Mode::kSame) pad = {size / 2, (size - 1) / 2};
    if (is_late) std::swap(pad.first, pad.second);
    pads.push_back(pad);
  }
  const Array weights = numpy::expand_dims(numpy::flip(y), {0, 1});
  const Array made = lax::conv_general_dilated(
      numpy::expand_dims(x, {0, 1}), weights,
      {.padding = pads, .window_strides = std::vector<int64_t>(x.rank(), 1)});
  return numpy::squeeze(made, {0, 1});
}

Array reversed_conjugate(const Array& y) { return numpy::flip(numpy::conjugate(y)); }

void check_planes(const Array& x, const char* function) {
  if (x.rank() == 2) return;
  invalid_argument(fmt::format("{}: inputs must have two dimensions, got {}", function, x.rank()));
}

// The axes in the given order; by default all.
std::vector<int64_t> axes_in_order(const numpy::Axes& axes, size_t rank, const char* function) {
  std::vector<int64_t> result = numpy::normalize_axes(axes, rank, function);
  if (!axes) return result;
  result.clear();
  for (const int64_t axis : *axes) result.push_back(numpy::normalize_axis(axis, rank, function));
  return result;
}

// Subtracts the least-squares line along the last dimension.
Array without_line(const Array& part) {
  const int64_t size = part.shape().back();
  Array place = numpy::astype(lax::iota(DType::kInt32, {size}, 0), part.dtype());
  place = place - numpy::mean(place);
  const Array centred = part - numpy::mean(part, -1, /*keepdims=*/true);
  const Array squares = numpy::sum(place * place);
  const Array slope =
      numpy::sum(centred * place, -1, /*keepdims=*/true) / numpy::where(squares == 0, 1, squares);
  return centred - slope * place;
}

}  // namespace

Array convolve(const Array& x_in, const Array& y_in, Mode mode, Method method) {
  if (method == Method::kFft) return fftconvolve(x_in, y_in, mode);
  const auto [x, y] = signals(x_in, y_in, "convolve");
  return slide_over(x, y, mode, "convolve");
}

Array correlate(const Array& x_in, const Array& y_in, Mode mode, Method method) {
  const auto [x, y] = signals(x_in, y_in, "correlate");
  if (mode == Mode::kValid && is_smaller_somewhere(x, y)) {
    if (is_smaller_somewhere(y, x)) refuse_sizes(x, y, "correlate");
    return numpy::conjugate(numpy::flip(signal::correlate(y, x, mode, method)));
  }
  return signal::convolve(x, reversed_conjugate(y), mode, method);
}

Array convolve2d(const Array& x_in, const Array& y_in, Mode mode) {
  const auto [x, y] = signals(x_in, y_in, "convolve2d");
  check_planes(x, "convolve2d");
  return slide_over(x, y, mode, "convolve2d");
}

Array correlate2d(const Array& x_in, const Array& y_in, Mode mode) {
  const auto [x, y] = signals(x_in, y_in, "correlate2d");
  check_planes(x, "correlate2d");
  if (mode != Mode::kSame) return signal::correlate(x, y, mode);
  return slide_over(x, reversed_conjugate(y), mode, "correlate2d", /*is_late=*/true);
}

Array fftconvolve(const Array& x_in, const Array& y_in, Mode mode, const numpy::Axes& axes) {
  auto [x, y] = signals(x_in, y_in, "fftconvolve");
  const std::vector<int64_t> over = axes_in_order(axes, x.rank(), "fftconvolve");
  const auto is_smaller = [&x = x, &y = y](int64_t axis) {
    return x.shape()[axis] < y.shape()[axis];
  };
  if (mode == Mode::kValid && std::ranges::any_of(over, is_smaller)) {
    std::swap(x, y);
    if (std::ranges::any_of(over, is_smaller)) refuse_sizes(y, x, "fftconvolve");
  }
  std::vector<int64_t> sizes;
  for (const int64_t axis : over) {
    sizes.push_back(checked_sum(x.shape()[axis], y.shape()[axis]) - 1);
  }
  namespace fft = numpy::fft;
  const bool is_complex_signal = is_complex(x.dtype());
  const auto forward = is_complex_signal ? fft::fftn : fft::rfftn;
  const auto back = is_complex_signal ? fft::ifftn : fft::irfftn;
  const auto norm = fft::Norm::kBackward;
  Array full = numpy::astype(
      back(forward(x, sizes, over, norm) * forward(y, sizes, over, norm), sizes, over, norm),
      x.dtype());
  if (mode == Mode::kFull) return full;
  std::vector<numpy::Index> index(full.rank(), numpy::Slice{});
  for (const int64_t axis : over) {
    const int64_t cut = mode == Mode::kValid ? y.shape()[axis] - 1 : 0;
    const int64_t size = x.shape()[axis] - cut, start = (full.shape()[axis] - size) >> 1;
    index[axis] = numpy::Slice{.start = start, .stop = start + size};
  }
  return numpy::take(full, index);
}

Array detrend(const Array& data, const DetrendOptions& options) {
  Array array = numpy::promote_inexact(data, "detrend");
  const int64_t axis = numpy::normalize_axis(options.axis, array.rank(), "detrend");
  if (options.trend == Trend::kConstant) {
    return array - numpy::mean(array, axis, /*keepdims=*/true);
  }
  const Array last = numpy::moveaxis(array, axis, -1);
  const int64_t size = last.shape().back();
  std::set<int64_t> ends = {0, size};
  for (const int64_t end : options.breakpoints) {
    if (end < 0 || end > size) {
      invalid_argument(fmt::format("detrend: breakpoints must lie in [0, {}], got {}", size, end));
    }
    ends.insert(end);
  }
  std::vector<Array> parts;
  for (auto begin = ends.begin(); std::next(begin) != ends.end(); ++begin) {
    const numpy::Slice piece = {.start = *begin, .stop = *std::next(begin)};
    parts.push_back(without_line(numpy::take(last, {numpy::Ellipsis{}, piece})));
  }
  if (parts.empty()) return array;
  return numpy::moveaxis(numpy::concatenate(parts, -1), -1, axis);
}

}  // namespace farcall::signal
