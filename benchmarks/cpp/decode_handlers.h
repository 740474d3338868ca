// No-op handlers that decode the same call frame, bound once with farcall's header, once with
// XLA's, and once with farcall's header of that name. The names say how many arguments and
// attributes they take.
#pragma once

#include <farcall/abi.h>

#define FARCALL_DECODE_CASES(X) X(0, 0) X(1, 0) X(3, 0) X(8, 0) X(0, 2) X(0, 8) X(3, 2) X(8, 8)

#define FARCALL_DECODE_DECLARE(args, attrs)                                                    \
  extern "C" FARCALL_FFI_Error* farcall_decode_##args##_##attrs(FARCALL_FFI_CallFrame* frame); \
  extern "C" FARCALL_FFI_Error* own_xla_decode_##args##_##attrs(FARCALL_FFI_CallFrame* frame); \
  extern "C" FARCALL_FFI_Error* xla_decode_##args##_##attrs(FARCALL_FFI_CallFrame* frame);
FARCALL_DECODE_CASES(FARCALL_DECODE_DECLARE)
#undef FARCALL_DECODE_DECLARE
