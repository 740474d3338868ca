// Keeps BLAS on the calling thread.
#pragma once

#include <farcall/core/export.h>

namespace farcall {

// While one lives, OpenBLAS uses no threads of its own. They would compete with those that farcall
// divides the work between, wait in loops that other programs feel, and change the bits of results
// with their number. OpenBLAS has one setting for the whole process, perhaps shared with another
// library; the last one that leaves restores it. For other BLAS libraries this does nothing.
class FARCALL_API OneBlasThread {
 public:
  OneBlasThread();
  ~OneBlasThread();
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;
};

}  // namespace farcall
