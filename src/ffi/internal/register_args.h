// The arguments of Handler_Register as versions 0.0 to 0.3 of the interface have them.
#pragma once

#include <farcall/abi.h>

namespace farcall::runtime {

// The bundle ends after `execute`, so the traits are at the offset where `record` is now.
struct RegisterArgs_0_3 {
  size_t struct_size;
  FARCALL_FFI_InternalExtension* extension_start;
  FARCALL_FFI_ByteSpan name;
  FARCALL_FFI_ByteSpan platform;
  FARCALL_FFI_Handler* bundle[4];
  FARCALL_FFI_Handler_Traits traits;
};

}  // namespace farcall::runtime
