// XLA's header of this name has no counterpart in farcall: see ffi.h.
#error \
    "farcall: xla/ffi/api/record_api.h is not supported: launch the kernels on the stream, and give the handler the trait kCmdBufferCompatible, so that they are recorded into command buffers"
