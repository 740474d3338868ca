// Futures: how an asynchronous handler says that it is done.
#pragma once

#include <atomic>

#include "ffi/error_value.h"

// Has two owners, the handler, until it says that the future is complete, and the runtime, until it
// has waited. The last holder deletes it: the waiter may be awake before the completing thread
// has left the function that woke it. A future that is never completed is waited for forever; the
// interface has no way to tell that nobody will.
struct FARCALL_FFI_Future {
 public:
  // Takes the error; null means success. To be called once.
  void complete(FARCALL_FFI_Error* error);
  // Blocks until complete; returns the error and gives up its hold.
  FARCALL_FFI_Error* wait_and_release();
  // Lets go without waiting.
  void release();

 private:
  std::atomic<int> done_{0};
  std::atomic<int> owners_{2};
  farcall::runtime::ErrorPointer error_;
};
