// For kernel authors: turns C++ functions into handlers that XLA's FFI can call. Header-only,
// C++17, standard library only; usable in .cu files. The same binary runs in farcall and in JAX.
//
//   #include <farcall/ffi.h>
//   namespace ffi = farcall::ffi;
//
//   ffi::Error RmsNorm(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y, float eps);
//   FARCALL_DEFINE_HANDLER(rms_norm, RmsNorm, "eps");
//
// Names that also occur in XLA's header have the same meaning here. Names in farcall::ffi::detail
// may change at any time.
#pragma once

#if defined(_MSVC_LANG) ? _MSVC_LANG < 201703L : __cplusplus < 201703L
#error "farcall/ffi.h needs C++17 or newer: compile with -std=c++17"
#endif

#include <farcall/handler/attr_struct.h>
#include <farcall/handler/buffer.h>
#include <farcall/handler/context.h>
#include <farcall/handler/define.h>
#include <farcall/handler/dictionary.h>
#include <farcall/handler/dispatch.h>
#include <farcall/handler/dtype.h>
#include <farcall/handler/error.h>
#include <farcall/handler/future.h>
#include <farcall/handler/remaining.h>
#include <farcall/handler/scratch.h>
#include <farcall/handler/state.h>
#include <farcall/handler/thread_pool.h>
