// Casts between the structs of c_api.h and those of farcall/abi.h, which have the same layouts.
#pragma once

#include <farcall/abi.h>

#include "xla/ffi/api/c_api.h"

// Contains all names of xla::ffi. It keeps the symbols of a library built with farcall's header
// distinct from those of a library built with XLA's, for processes that load both.
#define FARCALL_XLA_NAMESPACE \
  namespace xla::ffi {        \
  inline namespace farcall_header {
#define FARCALL_XLA_NAMESPACE_END \
  }                               \
  }

FARCALL_XLA_NAMESPACE
namespace internal {

inline const FARCALL_FFI_Api* as_farcall(const XLA_FFI_Api* api) {
  return reinterpret_cast<const FARCALL_FFI_Api*>(api);
}
inline FARCALL_FFI_ExecutionContext* as_farcall(XLA_FFI_InvokeContext* ctx) {
  return reinterpret_cast<FARCALL_FFI_ExecutionContext*>(ctx);
}
inline const FARCALL_FFI_Attrs* as_farcall(const XLA_FFI_Attrs* attrs) {
  return reinterpret_cast<const FARCALL_FFI_Attrs*>(attrs);
}
inline const FARCALL_FFI_Buffer* as_farcall(const XLA_FFI_Buffer* buffer) {
  return reinterpret_cast<const FARCALL_FFI_Buffer*>(buffer);
}
inline FARCALL_FFI_CallFrame* as_farcall(XLA_FFI_CallFrame* frame) {
  return reinterpret_cast<FARCALL_FFI_CallFrame*>(frame);
}

inline const XLA_FFI_Api* as_xla(const FARCALL_FFI_Api* api) {
  return reinterpret_cast<const XLA_FFI_Api*>(api);
}
inline XLA_FFI_InvokeContext* as_xla(FARCALL_FFI_ExecutionContext* ctx) {
  return reinterpret_cast<XLA_FFI_InvokeContext*>(ctx);
}
inline XLA_FFI_Error* as_xla(FARCALL_FFI_Error* error) {
  return reinterpret_cast<XLA_FFI_Error*>(error);
}

}  // namespace internal
FARCALL_XLA_NAMESPACE_END
