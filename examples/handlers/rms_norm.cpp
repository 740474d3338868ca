// rms_norm: divides each row by its root mean square.
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <farcall/ffi.h>

namespace ffi = farcall::ffi;

template <typename T>
static void normalize_rows(const T* x, T* y, int64_t rows, int64_t width, double eps) {
  for (int64_t row = 0; row < rows; ++row, x += width, y += width) {
    T sum = 0;
    for (int64_t i = 0; i < width; ++i) sum += x[i] * x[i];
    const T scale = 1 / std::sqrt(sum / static_cast<T>(width) + static_cast<T>(eps));
    for (int64_t i = 0; i < width; ++i) y[i] = x[i] * scale;
  }
}

// The parameters are the whole interface: any array, its normalized copy, and one attribute.
static ffi::Error rms_norm_of(ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y, double eps) {
  const auto shape = x.dimensions();
  if (shape.empty()) return ffi::Error::InvalidArgument("rms_norm: x has no dimensions");
  if (shape != y->dimensions() || x.element_type() != y->element_type()) {
    return ffi::Error::InvalidArgument("rms_norm: the result must have the shape and dtype of x");
  }
  const int64_t width = shape.back();
  const int64_t rows = width == 0 ? 0 : static_cast<int64_t>(x.element_count()) / width;
  return ffi::dispatch<ffi::F32, ffi::F64>(x.element_type(), [&](auto dtype) {
    using T = typename decltype(dtype)::type;
    normalize_rows(x.typed_data<T>(), y->typed_data<T>(), rows, width, eps);
  });
}
FARCALL_DEFINE_HANDLER(rms_norm, rms_norm_of, ffi::attr("eps").default_to(1e-6));
