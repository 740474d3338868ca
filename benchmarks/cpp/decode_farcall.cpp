// The handlers of decode_handlers.h with farcall's header.
#include "decode_handlers.h"

#include <farcall/ffi.h>

namespace ffi = farcall::ffi;
using Array = ffi::Buffer<ffi::F32>;
using Matrix = ffi::Buffer<ffi::F32, 2>;

static ffi::Error noop_0_0() { return ffi::Error::Success(); }
FARCALL_DEFINE_HANDLER(farcall_decode_0_0, noop_0_0);

static ffi::Error noop_1_0(Array) { return ffi::Error::Success(); }
FARCALL_DEFINE_HANDLER(farcall_decode_1_0, noop_1_0);

static ffi::Error noop_3_0(Array, Matrix, Array) { return ffi::Error::Success(); }
FARCALL_DEFINE_HANDLER(farcall_decode_3_0, noop_3_0);

static ffi::Error noop_8_0(Array, Matrix, Array, Matrix, Array, Matrix, Array, Matrix) {
  return ffi::Error::Success();
}
FARCALL_DEFINE_HANDLER(farcall_decode_8_0, noop_8_0);

static ffi::Error noop_0_2(int64_t, float) { return ffi::Error::Success(); }
FARCALL_DEFINE_HANDLER(farcall_decode_0_2, noop_0_2, "axis", "beta");

static ffi::Error noop_0_8(int64_t, float, int64_t, double, float, float, double, int64_t) {
  return ffi::Error::Success();
}
FARCALL_DEFINE_HANDLER(farcall_decode_0_8, noop_0_8, "axis", "beta", "count", "epsilon", "factor",
                       "gamma", "scale", "window_size");

static ffi::Error noop_3_2(Array, Matrix, Array, int64_t, float) { return ffi::Error::Success(); }
FARCALL_DEFINE_HANDLER(farcall_decode_3_2, noop_3_2, "axis", "beta");

static ffi::Error noop_8_8(Array, Matrix, Array, Matrix, Array, Matrix, Array, Matrix, int64_t,
                           float, int64_t, double, float, float, double, int64_t) {
  return ffi::Error::Success();
}
FARCALL_DEFINE_HANDLER(farcall_decode_8_8, noop_8_8, "axis", "beta", "count", "epsilon", "factor",
                       "gamma", "scale", "window_size");
