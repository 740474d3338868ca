// A layer of a network in two kernels: rms_norm_forward keeps the factor of each row,
// rms_norm_backward turns cotangents of the layer's results into those of its operands with it.
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <farcall/ffi.h>

namespace ffi = farcall::ffi;

// Rows of one width, each with a factor: all sizes that the kernels need.
struct Rows {
  int64_t count, width;
};

static ffi::ErrorOr<Rows> rows_of(const ffi::AnyBuffer& x, const ffi::AnyBuffer& scale) {
  const auto shape = x.dimensions();
  if (shape.empty()) return ffi::Error::InvalidArgument("rms_norm: x has no dimensions");
  if (scale.dimensions() != shape.first(shape.size() - 1) ||
      scale.element_type() != x.element_type()) {
    return ffi::Error::InvalidArgument(
        "rms_norm: scale must have the dtype of x and its shape without the last dimension");
  }
  return Rows{static_cast<int64_t>(scale.element_count()), shape.back()};
}

static bool alike(const ffi::AnyBuffer& x, const ffi::AnyBuffer& y) {
  return x.dimensions() == y.dimensions() && x.element_type() == y.element_type();
}

// y = x * scale, scale = 1 / sqrt(mean(x^2) + eps)
template <typename T>
static void forward(const T* x, T* y, T* scale, Rows rows, double eps) {
  for (int64_t row = 0; row < rows.count; ++row, x += rows.width, y += rows.width) {
    T sum = 0;
    for (int64_t i = 0; i < rows.width; ++i) sum += x[i] * x[i];
    scale[row] = 1 / std::sqrt(sum / static_cast<T>(rows.width) + static_cast<T>(eps));
    for (int64_t i = 0; i < rows.width; ++i) y[i] = x[i] * scale[row];
  }
}

// dx = scale * (dy - y * mean(y * dy))
template <typename T>
static void backward(const T* y, const T* scale, const T* dy, T* dx, Rows rows) {
  for (int64_t row = 0; row < rows.count; ++row) {
    T sum = 0;
    for (int64_t i = 0; i < rows.width; ++i) sum += y[i] * dy[i];
    const T mean = sum / static_cast<T>(rows.width);
    for (int64_t i = 0; i < rows.width; ++i) dx[i] = scale[row] * (dy[i] - y[i] * mean);
    y += rows.width, dy += rows.width, dx += rows.width;
  }
}

static ffi::Error forward_of(ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y,
                             ffi::Result<ffi::AnyBuffer> scale, double eps) {
  const auto rows = rows_of(x, *scale);
  if (rows.has_error()) return rows.error();
  if (!alike(x, *y)) return ffi::Error::InvalidArgument("rms_norm_forward: y must be like x");
  return ffi::dispatch<ffi::F32, ffi::F64>(x.element_type(), [&](auto dtype) {
    using T = typename decltype(dtype)::type;
    forward(x.typed_data<T>(), y->typed_data<T>(), scale->typed_data<T>(), *rows, eps);
  });
}
FARCALL_DEFINE_HANDLER(rms_norm_forward, forward_of, ffi::attr("eps").default_to(1e-6));

static ffi::Error backward_of(ffi::AnyBuffer y, ffi::AnyBuffer scale, ffi::AnyBuffer dy,
                              ffi::Result<ffi::AnyBuffer> dx) {
  const auto rows = rows_of(y, scale);
  if (rows.has_error()) return rows.error();
  if (!alike(y, dy) || !alike(y, *dx)) {
    return ffi::Error::InvalidArgument("rms_norm_backward: dy and dx must be like y");
  }
  return ffi::dispatch<ffi::F32, ffi::F64>(y.element_type(), [&](auto dtype) {
    using T = typename decltype(dtype)::type;
    backward(y.typed_data<T>(), scale.typed_data<T>(), dy.typed_data<T>(), dx->typed_data<T>(),
             *rows);
  });
}
FARCALL_DEFINE_HANDLER(rms_norm_backward, backward_of);
