/* The binary interface by hand, in C. */
#include <farcall/abi.h>

__attribute__((visibility("default"))) FARCALL_FFI_Error* thrice(FARCALL_FFI_CallFrame* frame) {
  if (frame->extension_start != NULL &&
      frame->extension_start->type == FARCALL_FFI_Extension_Metadata) {
    FARCALL_FFI_Metadata* metadata =
        ((FARCALL_FFI_Metadata_Extension*)frame->extension_start)->metadata;
    metadata->api_version.major_version = FARCALL_FFI_API_MAJOR;
    metadata->api_version.minor_version = FARCALL_FFI_API_MINOR;
    return NULL;
  }
  const FARCALL_FFI_Buffer* x = frame->args.args[0];
  const FARCALL_FFI_Buffer* y = frame->rets.rets[0];
  for (int64_t i = 0; i < x->dims[0]; ++i) ((float*)y->data)[i] = 3 * ((const float*)x->data)[i];
  return NULL;
}
