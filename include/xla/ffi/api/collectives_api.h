// XLA's header of this name has no counterpart in farcall: see ffi.h.
#error \
    "farcall: xla/ffi/api/collectives_api.h is not supported: communicate in the program around the call (lax.psum, lax.all_gather), or keep a communicator of your own in the handler's state"
