// The handlers of decode_handlers.h with XLA's header, and with farcall's header of that name.
#include "xla/ffi/api/ffi.h"

#ifdef FARCALL_XLA_HEADER
#define DECODE(args, attrs) own_xla_decode_##args##_##attrs
#else
#define DECODE(args, attrs) xla_decode_##args##_##attrs
#endif

namespace ffi = xla::ffi;
using Array = ffi::Buffer<ffi::F32>;
using Matrix = ffi::Buffer<ffi::F32, 2>;

static ffi::Error noop_0_0() { return ffi::Error::Success(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(DECODE(0, 0), noop_0_0, ffi::Ffi::Bind());

static ffi::Error noop_1_0(Array) { return ffi::Error::Success(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(DECODE(1, 0), noop_1_0, ffi::Ffi::Bind().Arg<Array>());

static ffi::Error noop_3_0(Array, Matrix, Array) { return ffi::Error::Success(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(DECODE(3, 0), noop_3_0,
                              ffi::Ffi::Bind().Arg<Array>().Arg<Matrix>().Arg<Array>());

static ffi::Error noop_8_0(Array, Matrix, Array, Matrix, Array, Matrix, Array, Matrix) {
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(DECODE(8, 0), noop_8_0,
                              ffi::Ffi::Bind()
                                  .Arg<Array>()
                                  .Arg<Matrix>()
                                  .Arg<Array>()
                                  .Arg<Matrix>()
                                  .Arg<Array>()
                                  .Arg<Matrix>()
                                  .Arg<Array>()
                                  .Arg<Matrix>());

static ffi::Error noop_0_2(int64_t, float) { return ffi::Error::Success(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(DECODE(0, 2), noop_0_2,
                              ffi::Ffi::Bind().Attr<int64_t>("axis").Attr<float>("beta"));

static ffi::Error noop_0_8(int64_t, float, int64_t, double, float, float, double, int64_t) {
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(DECODE(0, 8), noop_0_8,
                              ffi::Ffi::Bind()
                                  .Attr<int64_t>("axis")
                                  .Attr<float>("beta")
                                  .Attr<int64_t>("count")
                                  .Attr<double>("epsilon")
                                  .Attr<float>("factor")
                                  .Attr<float>("gamma")
                                  .Attr<double>("scale")
                                  .Attr<int64_t>("window_size"));

static ffi::Error noop_3_2(Array, Matrix, Array, int64_t, float) { return ffi::Error::Success(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    DECODE(3, 2), noop_3_2,
    ffi::Ffi::Bind().Arg<Array>().Arg<Matrix>().Arg<Array>().Attr<int64_t>("axis").Attr<float>(
        "beta"));

static ffi::Error noop_8_8(Array, Matrix, Array, Matrix, Array, Matrix, Array, Matrix, int64_t,
                           float, int64_t, double, float, float, double, int64_t) {
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(DECODE(8, 8), noop_8_8,
                              ffi::Ffi::Bind()
                                  .Arg<Array>()
                                  .Arg<Matrix>()
                                  .Arg<Array>()
                                  .Arg<Matrix>()
                                  .Arg<Array>()
                                  .Arg<Matrix>()
                                  .Arg<Array>()
                                  .Arg<Matrix>()
                                  .Attr<int64_t>("axis")
                                  .Attr<float>("beta")
                                  .Attr<int64_t>("count")
                                  .Attr<double>("epsilon")
                                  .Attr<float>("factor")
                                  .Attr<float>("gamma")
                                  .Attr<double>("scale")
                                  .Attr<int64_t>("window_size"));
