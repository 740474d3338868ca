// XLA's FFI for kernels, by farcall: see ffi.h.
#ifndef FARCALL_XLA_API_H_
#define FARCALL_XLA_API_H_

#if defined(_MSVC_LANG) ? _MSVC_LANG < 201703L : __cplusplus < 201703L
#error "xla/ffi/api/api.h needs C++17 or newer: compile with -std=c++17"
#endif
#if defined(XLA_FFI_API_API_H_) || defined(XLA_FFI_API_FFI_H_)
#error \
    "XLA's own xla/ffi/api/ffi.h came before farcall's: put one include folder of the two on the path"
#endif
#ifdef XLA_FFI_FFI_H_
#error "XLA's internal xla/ffi/ffi.h cannot be used together with xla/ffi/api/ffi.h"
#endif
#define XLA_FFI_API_API_H_  // makes XLA's own files empty if they are included later
#define XLA_FFI_API_FFI_H_

#include "xla/ffi/api/c_api.h"

#ifndef FARCALL_XLA_C_API_H_
#error \
    "XLA's own xla/ffi/api/c_api.h was found in place of farcall's: put one include folder of the two on the path"
#endif

#include <farcall/xla/absent.h>
#include <farcall/xla/macros.h>

#endif  // FARCALL_XLA_API_H_
