#include "ffi/future.h"

#include <farcall/core/references.h>

void FARCALL_FFI_Future::complete(FARCALL_FFI_Error* error) {
  error_.reset(error);
  done_.store(1, std::memory_order_release);
  done_.notify_all();
  release();
}

FARCALL_FFI_Error* FARCALL_FFI_Future::wait_and_release() {
  done_.wait(0, std::memory_order_acquire);
  FARCALL_FFI_Error* error = error_.release();
  release();
  return error;
}

void FARCALL_FFI_Future::release() {
  if (farcall::detail::drop_reference(owners_)) delete this;
}
