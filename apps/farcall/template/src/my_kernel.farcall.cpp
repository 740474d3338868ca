// y = tanh(gain * x), element by element.
#include <cmath>

#include <farcall/ffi.h>

namespace ffi = farcall::ffi;

static ffi::Error MyKernel(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y, float gain) {
  if (y->element_count() != x.element_count())
    return ffi::Error::InvalidArgument("x and y must have the same size");
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = std::tanh(gain * x.typed_data()[i]);
  return ffi::Error::Success();
}
FARCALL_DEFINE_HANDLER(my_kernel, MyKernel, "gain");
