// Futures: how an asynchronous handler reports completion.
#pragma once

#include <atomic>
#include <cstdint>

#include "ffi/error_value.h"

// Has two owners: the handler until it completes the future, and the runtime until it has waited.
// The last owner deletes it, because the waiter may wake up before the completing thread has left
// complete(). Waiting for a future that is never completed blocks forever; the interface has no way
// to abandon one.
struct FARCALL_FFI_Future {
 public:
  // Takes ownership of the error; null means success. Must be called once.
  void complete(FARCALL_FFI_Error* error);
  // Blocks until complete, releases the runtime's reference, and returns the error.
  FARCALL_FFI_Error* wait_and_release();
  // Drops a reference without waiting.
  void release();

 private:
  std::atomic<int> done_{0};
  std::atomic<uint32_t> owners_{2};
  farcall::runtime::ErrorPointer error_;
};
