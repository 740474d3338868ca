// XLA's FFI for kernels, by farcall. Code written against XLA's header of this name compiles
// unchanged with this one, and its handlers run in farcall and in JAX.
//
// The names are those of XLA's header of interface version 0.5 (jaxlib 0.12); decoding, checks and
// messages are those of farcall/ffi.h. A handler uses the older of 0.5 and the calling runtime's
// version. FARCALL_XLA_LEAN leaves out the standard headers that the interface itself does not need
// (farcall/xla/standard.h). FARCALL_XLA_HEADER distinguishes this header from XLA's.
#ifndef FARCALL_XLA_FFI_H_
#define FARCALL_XLA_FFI_H_

#if defined(XLA_FFI_API_FFI_H_) && !defined(FARCALL_XLA_API_H_)
#error \
    "XLA's own xla/ffi/api/ffi.h came before farcall's: put one include folder of the two on the path"
#endif

#include "xla/ffi/api/api.h"

#ifndef FARCALL_XLA_API_H_
#error \
    "XLA's own xla/ffi/api/api.h was found in place of farcall's: put one include folder of the two on the path"
#endif

#define FARCALL_XLA_HEADER 1

#endif  // FARCALL_XLA_FFI_H_
