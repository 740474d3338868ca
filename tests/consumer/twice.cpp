#include <farcall/ffi.h>

namespace ffi = farcall::ffi;

namespace {

ffi::Error twice_impl(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = 2 * x.typed_data()[i];
  return ffi::Error();
}

}  // namespace

FARCALL_DEFINE_HANDLER(twice, twice_impl);
