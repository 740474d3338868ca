#include <farcall/numpy/fft.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/ops/fft.h>
#include <farcall/ops/indexing.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy_indexing.h>

#include "ops/internal/numpy.h"

namespace farcall::numpy::fft {
namespace {

enum class Kind : uint8_t { kFft, kIfft, kRfft, kIrfft };
const char* name_of(Kind kind) {
  constexpr const char* kNames[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
  return kNames[static_cast<size_t>(kind)];
}

// The parameters of a call.
struct Call {
  std::string_view function;
  Kind kind;
  Norm norm;
};

[[noreturn]] void refuse_call(const Call& call, const std::string& why) {
  invalid_argument(fmt::format("{}: {}", call.function, why));
}

// Truncates or zero-pads x to this size along the axis.
Array resized(const Array& x, int64_t axis, int64_t size) {
  const int64_t present = x.shape()[axis];
  if (present > size) {
    std::vector<int64_t> starts(x.rank(), 0), limits(x.shape().begin(), x.shape().end());
    limits[axis] = size;
    return lax::slice(x, starts, limits);
  }
  if (present == size) return x;
  PadWidths widths(x.rank());
  widths[axis].second = size - present;
  return pad(x, widths, Array(0));
}

// Converts the operand to the real or complex dtype that the transform takes.
Array operand_of(const Call& call, const Array& a) {
  const Array x = promote_inexact(a, call.function);
  const size_t width = byte_width(x.dtype());
  if (call.kind != Kind::kRfft) {
    const bool is_wide = width == (is_complex(x.dtype()) ? 16 : 8);
    return astype(x, is_wide ? DType::kComplex128 : DType::kComplex64);
  }
  if (is_complex(x.dtype())) {
    refuse_call(call, fmt::format("takes real numbers, got {}; use fft", dtype_name(x.dtype())));
  }
  return astype(x, width == 8 ? DType::kFloat64 : DType::kFloat32);
}

// The axes in the given order; for real transforms the last one is special.
std::vector<int64_t> axes_of(const Call& call, const Array& x, const Sizes& s, const Axes& given) {
  const auto rank = static_cast<int64_t>(x.rank());
  std::vector<int64_t> axes;
  if (given) {
    for (const int64_t axis : *given) axes.push_back(normalize_axis(axis, x.rank(), call.function));
  } else {
    const auto count = s ? static_cast<int64_t>(s->size()) : rank;
    if (count > rank) {
      refuse_call(call, fmt::format("s {} has more sizes than {} has dimensions",
                                    shape_to_string(*s), x.type().to_string()));
    }
    for (int64_t axis = rank - count; axis < rank; ++axis) axes.push_back(axis);
  }
  normalize_axes(axes, x.rank(), call.function);  // raises for duplicates
  return axes;
}

std::vector<int64_t> sizes_of(const Call& call, const Array& x, const Sizes& s,
                              const std::vector<int64_t>& axes) {
  std::vector<int64_t> sizes;
  if (s) {
    sizes = *s;
    if (sizes.size() != axes.size()) {
      refuse_call(call, fmt::format("s {} must have a size for each axis of {}",
                                    shape_to_string(sizes), shape_to_string(axes)));
    }
  } else {
    for (const int64_t axis : axes) sizes.push_back(x.shape()[axis]);
    if (call.kind == Kind::kIrfft) sizes.back() = 2 * (sizes.back() - 1);
  }
  if (std::ranges::any_of(sizes, [](int64_t size) { return size < 1; })) {
    refuse_call(call, fmt::format("sizes must be at least 1, got {}", shape_to_string(sizes)));
  }
  return sizes;
}

// The primitive itself divides inverse transforms by the number of elements.
Array scaled(const Call& call, const Array& x, const std::vector<int64_t>& sizes) {
  if (call.norm == Norm::kBackward) return x;
  double size = 1;
  for (const int64_t each : sizes) size *= static_cast<double>(each);
  const bool is_inverse = call.kind == Kind::kIfft || call.kind == Kind::kIrfft;
  const double factor = call.norm == Norm::kOrtho ? std::sqrt(size) : size;
  if (factor == 1) return x;
  return x * (is_inverse ? factor : 1 / factor);
}

Array transform(const Call& call, const Array& a, const Sizes& s, const Axes& given) {
  const std::vector<int64_t> axes = axes_of(call, a, s, given);
  if (axes.empty()) return a;
  Array x = operand_of(call, a);
  const std::vector<int64_t> sizes = sizes_of(call, x, s, axes);
  for (size_t i = 0; i < axes.size(); ++i) {
    const bool is_half = call.kind == Kind::kIrfft && i + 1 == axes.size();
    x = resized(x, axes[i], is_half ? sizes[i] / 2 + 1 : sizes[i]);
  }
  // The primitive transforms the last dimensions.
  std::vector<int64_t> order;
  for (int64_t axis = 0; axis < static_cast<int64_t>(x.rank()); ++axis) {
    if (std::ranges::find(axes, axis) == axes.end()) order.push_back(axis);
  }
  order.insert(order.end(), axes.begin(), axes.end());
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[order[i]] = static_cast<int64_t>(i);
  const Array result = lax::fft(lax::transpose(x, order), name_of(call.kind), sizes);
  return scaled(call, lax::transpose(result, back), sizes);
}

Array along_one(const Call& call, const Array& a, Size n, int64_t axis) {
  return transform(call, a, n ? Sizes(std::vector{*n}) : Sizes(), axis);
}

Norm opposite(Norm norm) {
  if (norm == Norm::kOrtho) return norm;
  return norm == Norm::kBackward ? Norm::kForward : Norm::kBackward;
}

// 0, 1, …, size - 1.
Array places(int64_t n, int64_t size, std::string_view function) {
  if (n < 0) {
    invalid_argument(fmt::format("{}: n must not be negative, got {}", function, n));
  }
  const bool is_long = n > std::numeric_limits<int32_t>::max();
  return lax::iota(is_long ? DType::kInt64 : DType::kInt32, {size}, 0);
}
Array frequencies(const Array& multiples, int64_t n, const Array& d, std::optional<DType> dtype) {
  return astype(multiples, dtype.value_or(default_float())) / (d * n);
}

Array shifted(const Array& x, const Axes& given, std::string_view function, int64_t sign) {
  Array result = x;
  for (const int64_t axis : normalize_axes(given, x.rank(), function)) {
    result = roll(result, sign * (x.shape()[axis] / 2), axis);
  }
  return result;
}

}  // namespace

#define FARCALL_ALONG_ONE(function, kind)                           \
  Array function(const Array& a, Size n, int64_t axis, Norm norm) { \
    return along_one({#function, Kind::kind, norm}, a, n, axis);    \
  }
#define FARCALL_ALONG_SEVERAL(function, kind)                                   \
  Array function(const Array& a, const Sizes& s, const Axes& axes, Norm norm) { \
    return transform({#function, Kind::kind, norm}, a, s, axes);                \
  }
FARCALL_ALONG_ONE(fft, kFft)
FARCALL_ALONG_ONE(ifft, kIfft)
FARCALL_ALONG_ONE(rfft, kRfft)
FARCALL_ALONG_ONE(irfft, kIrfft)
FARCALL_ALONG_SEVERAL(fftn, kFft)
FARCALL_ALONG_SEVERAL(ifftn, kIfft)
FARCALL_ALONG_SEVERAL(rfftn, kRfft)
FARCALL_ALONG_SEVERAL(irfftn, kIrfft)
FARCALL_ALONG_SEVERAL(fft2, kFft)
FARCALL_ALONG_SEVERAL(ifft2, kIfft)
FARCALL_ALONG_SEVERAL(rfft2, kRfft)
FARCALL_ALONG_SEVERAL(irfft2, kIrfft)
#undef FARCALL_ALONG_ONE
#undef FARCALL_ALONG_SEVERAL

Array hfft(const Array& a, Size n, int64_t axis, Norm norm) {
  return along_one({"hfft", Kind::kIrfft, opposite(norm)}, conjugate(a), n, axis);
}
Array ihfft(const Array& a, Size n, int64_t axis, Norm norm) {
  return conjugate(along_one({"ihfft", Kind::kRfft, opposite(norm)}, a, n, axis));
}

Array fftfreq(int64_t n, const Array& d, std::optional<DType> dtype) {
  const Array index = places(n, n, "fftfreq");
  return frequencies(where(index < (n + 1) / 2, index, index - n), n, d, dtype);
}
Array rfftfreq(int64_t n, const Array& d, std::optional<DType> dtype) {
  return frequencies(places(n, n / 2 + 1, "rfftfreq"), n, d, dtype);
}

Array fftshift(const Array& x, const Axes& axes) { return shifted(x, axes, "fftshift", 1); }
Array ifftshift(const Array& x, const Axes& axes) { return shifted(x, axes, "ifftshift", -1); }

}  // namespace farcall::numpy::fft
