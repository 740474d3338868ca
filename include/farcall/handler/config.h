// Compiler differences and the build switches of the handler header.
//
// FARCALL_FFI_VERSION_MINOR is the newest minor version of the interface (0.1 to 0.5) that handlers
// use. A handler uses the older of this version and that of the calling runtime. Keep the default:
// XLA's runtimes read state only in the layout of their own version, so with a lower number
// stateful handlers fail there.
#pragma once

#include <farcall/abi.h>

#ifndef FARCALL_FFI_VERSION_MINOR
#define FARCALL_FFI_VERSION_MINOR FARCALL_FFI_API_MINOR
#endif
#if FARCALL_FFI_VERSION_MINOR < 1 || FARCALL_FFI_VERSION_MINOR > FARCALL_FFI_API_MINOR
#error "FARCALL_FFI_VERSION_MINOR must lie between 1 and FARCALL_FFI_API_MINOR"
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#define FARCALL_FFI_EXPORT __declspec(dllexport)
#define FARCALL_FFI_HIDDEN
#define FARCALL_FFI_COLD __declspec(noinline)
#define FARCALL_FFI_INLINE __forceinline
#define FARCALL_FFI_LIKELY(condition) (condition)
#else
#define FARCALL_FFI_EXPORT __attribute__((visibility("default")))
#define FARCALL_FFI_HIDDEN __attribute__((visibility("hidden")))
#define FARCALL_FFI_COLD __attribute__((noinline, cold))
#define FARCALL_FFI_INLINE inline __attribute__((always_inline))
#define FARCALL_FFI_LIKELY(condition) (__builtin_expect(static_cast<bool>(condition), 1))
#endif

#ifdef __CUDACC__
#define FARCALL_FFI_HOST_DEVICE __host__ __device__
#define FARCALL_FFI_NODISCARD  // nvcc would warn about every assignment
#else
#define FARCALL_FFI_HOST_DEVICE
#define FARCALL_FFI_NODISCARD [[nodiscard]]
#endif

#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#define FARCALL_FFI_EXCEPTIONS 1
#else
#define FARCALL_FFI_EXCEPTIONS 0
#endif
