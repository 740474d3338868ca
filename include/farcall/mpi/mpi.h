// Several processes over MPI: the job that mpirun has started, and operations between its
// processes. In the library farcall_mpi, which is built where CMake finds MPI; libfarcall links no
// MPI.
//
// The operations are foreign calls with a side effect: eager, in compiled programs, loops and
// branches, in the order in which the program has them. All processes have to run the same
// collective ones; their types and options are compared each time unless that is off, and errors
// are FfiErrors (code FAILED_PRECONDITION where processes differ, DEADLINE_EXCEEDED when time is
// up, ABORTED when another process has failed or ended). vmap makes one operation on the batch. Of
// derivatives there are those of allreduce of sums, alltoall and sendrecv. Each raises
// FAILED_PRECONDITION before initialize(), and INVALID_ARGUMENT for a process that is not there.
#pragma once

#include <optional>
#include <string>

#include <farcall/core/export.h>
#include <farcall/program/processes.h>
#include <farcall/trace/array.h>

namespace farcall::mpi {

// Joins the job: every process calls this once, before programs of several processes. MPI is
// initialised unless it is already. Raises FAILED_PRECONDITION in a process that mpirun has not
// started, DEADLINE_EXCEEDED where others do not call it.
FARCALL_API void initialize(const ProcessOptions& options = {});
// Leaves it, and finalizes MPI where initialize() has initialised it.
FARCALL_API void shutdown();

// "sum", "prod", "max", "min" of numbers; "land", "lor", "lxor" of bools; "band", "bor", "bxor" of
// integers. Raises INVALID_ARGUMENT for other names, and for elements that MPI cannot reduce:
// floats of less than 32 bits.
using Reduction = std::string;

// Of all processes, element by element, for all. The derivative in forward mode is the sum of the
// tangents. In reverse mode each process keeps its cotangent: every process computes a loss that
// depends on the sum, and they are taken to be one loss and not several that are added.
FARCALL_API Array allreduce(const Array& x, const Reduction& op = "sum");
// For process `root`; the others get x.
FARCALL_API Array reduce(const Array& x, const Reduction& op, int root);
// Of the processes up to this one.
FARCALL_API Array scan(const Array& x, const Reduction& op = "sum");
// The arrays of all processes, stacked along a new first dimension.
FARCALL_API Array allgather(const Array& x);
// The same for process `root`; the others get x.
FARCALL_API Array gather(const Array& x, int root);
// x[i] goes to process i; for process `root` x has a first dimension of that size, which the result
// does not have. The others give an array of the result's type.
FARCALL_API Array scatter(const Array& x, int root);
// x[i] goes to process i, and comes to its place in x there. The first dimension of x is the number
// of processes.
FARCALL_API Array alltoall(const Array& x);
// That of process `root`; the others give an array of its type.
FARCALL_API Array bcast(const Array& x, int root);
FARCALL_API void barrier();

// To one process and from one; both need the same tag, from 0 to Processes::kMaxTag. `like` has the
// type of the result.
FARCALL_API void send(const Array& x, int destination, int tag = 0);
FARCALL_API Array recv(const Array& like, int source, int tag = 0);
// Both at once. Without a destination nothing is sent, without a source the result is `like`.
FARCALL_API Array sendrecv(const Array& x, const Array& like, std::optional<int> source,
                           std::optional<int> destination, int send_tag = 0, int receive_tag = 0);

}  // namespace farcall::mpi
