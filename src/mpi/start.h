// The beginning and the end of MPI, where nothing else has initialized it.
#pragma once

namespace farcall::mpi {

// Initializes MPI and returns its level of thread support. MPI_Init_thread returns when all
// processes have called it, and cannot be cancelled; it therefore runs in a thread of its own,
// which is left behind at an interrupt, and at the timeout with DEADLINE_EXCEEDED.
int start_mpi(double timeout_seconds);
// Finalizes MPI, in the same thread, as MPI demands.
void finish_mpi() noexcept;

}  // namespace farcall::mpi
