#include <farcall/scipy/fft.h>

#include <complex>
#include <numbers>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/numpy/fft.h>
#include <farcall/ops/indexing.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_indexing.h>

#include "ops/internal/numpy.h"

namespace farcall::scipy::fft {
namespace {

// A transform along the last axis.
using Transform = Array (*)(const Array& x, bool is_orthonormal);

Array every_second(const Array& x, int64_t first) {
  return numpy::take(x, {numpy::Ellipsis{}, numpy::Slice{first, {}, 2}});
}
Array last_range(const Array& x, std::optional<int64_t> start, std::optional<int64_t> stop) {
  return numpy::take(x, {numpy::Ellipsis{}, numpy::Slice{start, stop}});
}

// exp(sign i pi k / 2 n) in the complex dtype of floats like x.
Array quarter_turns(const Array& x, double sign) {
  const int64_t n = x.shape()[x.rank() - 1];
  const Array k = numpy::arange(0, static_cast<double>(n), 1, x.dtype());
  const Array angle = k * (sign * std::numbers::pi / (2 * static_cast<double>(n)));
  return lax::complex(numpy::cos(angle), numpy::sin(angle));
}

// What the orthonormal transform divides the elements by.
Array scales(const Array& x) {
  const int64_t n = x.shape()[x.rank() - 1];
  const Array is_first = numpy::equal(numpy::arange(0, static_cast<double>(n)), 0);
  return numpy::astype(numpy::sqrt(numpy::where(is_first, 4.0, 2.0) * static_cast<double>(n)),
                       x.dtype());
}

// By the Fourier transform of the elements of even index, followed by the others in reverse order.
Array forward(const Array& x, bool is_orthonormal) {
  const Array order = numpy::concatenate(
      {every_second(x, 0), numpy::flip(every_second(x, 1), numpy::Axes(-1))}, -1);
  const Array found = 2 * numpy::real(numpy::fft::fft(order) * quarter_turns(x, -1));
  return is_orthonormal ? found / scales(x) : found;
}

Array backward(const Array& given, bool is_orthonormal) {
  const Array x = is_orthonormal ? given * scales(given) : given;
  const int64_t n = x.shape()[x.rank() - 1], half = (n + 1) / 2;
  // The transform of a real signal from its parts: element n - k turned is that of k conjugated.
  const Array turned = numpy::roll(numpy::flip(x, numpy::Axes(-1)), 1, numpy::Axes(-1));
  const Array is_first = numpy::equal(numpy::arange(0, static_cast<double>(n)), 0);
  const Array spectrum =
      lax::complex(x, numpy::where(is_first, 0, -turned)) * quarter_turns(x, 1) / 2;
  const Array order = numpy::real(numpy::fft::ifft(spectrum));
  const Array even = last_range(order, {}, half);
  Array odd = numpy::flip(last_range(order, half, {}), numpy::Axes(-1));
  const bool is_short = n % 2 == 1;
  if (is_short) odd = numpy::concatenate({odd, numpy::zeros_like(last_range(even, 0, 1))}, -1);
  Shape shape(x.shape().begin(), x.shape().end());
  shape.back() = 2 * half;
  const Array both = numpy::reshape(numpy::stack({even, odd}, -1), shape);
  return is_short ? last_range(both, 0, n) : both;
}

Array resized(const Array& x, int64_t size) {
  std::vector<PaddingDimension> padding(x.rank());
  padding.back().high = size - x.shape()[x.rank() - 1];
  return lax::pad(x, numpy::astype(Array(0), x.dtype()), padding);
}

Array along(std::string_view function, Transform transform, const Array& given,
            std::optional<int64_t> n, int64_t axis, bool is_orthonormal) {
  const Array x = numpy::promote_inexact(given, function);
  if (is_complex(x.dtype())) {
    const auto part = [&](const Array& of) {
      return along(function, transform, of, n, axis, is_orthonormal);
    };
    return lax::complex(part(numpy::real(x)), part(numpy::imag(x)));
  }
  if (x.dtype() != DType::kFloat32 && x.dtype() != DType::kFloat64) {
    return along(function, transform, numpy::astype(x, DType::kFloat32), n, axis, is_orthonormal);
  }
  const int64_t place = numpy::normalize_axis(axis, x.rank(), function);
  const Array moved = numpy::moveaxis(x, place, -1);
  const int64_t size = n.value_or(x.shape()[place]);
  if (size < 1) {
    invalid_argument(fmt::format("{}: n must be at least 1, got {}", function, size));
  }
  return numpy::moveaxis(transform(resized(moved, size), is_orthonormal), -1, place);
}

Array along_all(std::string_view function, Transform transform, Array x,
                const std::optional<std::vector<int64_t>>& s, const numpy::Axes& axes,
                bool is_orthonormal) {
  const size_t count = axes ? axes->size() : s ? s->size() : x.rank();
  if (count > x.rank() || (s && s->size() != count)) {
    invalid_argument(fmt::format("{}: s must have a size for each axis, got {} for {} axes",
                                 function, s ? s->size() : count, axes ? count : x.rank()));
  }
  std::vector<int64_t> places(count);
  std::iota(places.begin(), places.end(), -static_cast<int64_t>(count));
  if (axes) places = *axes;
  for (size_t i = 0; i < count; ++i) {
    const std::optional<int64_t> n = s ? std::optional((*s)[i]) : std::nullopt;
    x = along(function, transform, x, n, places[i], is_orthonormal);
  }
  return x;
}

}  // namespace

Array dct(const Array& x, std::optional<int64_t> n, int64_t axis, bool is_orthonormal) {
  return along("dct", forward, x, n, axis, is_orthonormal);
}
Array idct(const Array& x, std::optional<int64_t> n, int64_t axis, bool is_orthonormal) {
  return along("idct", backward, x, n, axis, is_orthonormal);
}
Array dctn(const Array& x, const std::optional<std::vector<int64_t>>& s, const numpy::Axes& axes,
           bool is_orthonormal) {
  return along_all("dctn", forward, x, s, axes, is_orthonormal);
}
Array idctn(const Array& x, const std::optional<std::vector<int64_t>>& s, const numpy::Axes& axes,
            bool is_orthonormal) {
  return along_all("idctn", backward, x, s, axes, is_orthonormal);
}

}  // namespace farcall::scipy::fft
