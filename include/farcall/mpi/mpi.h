// Several processes over MPI: the job that mpirun has started, and operations between its
// processes. In the library farcall_mpi, which is built if CMake finds MPI; libfarcall does not
// link MPI.
//
// The operations are foreign calls with a side effect: they run eagerly, in compiled programs,
// loops and branches, in program order. All processes must run the same collective operations.
// Unless switched off, each one first compares their types and options. Errors are FfiErrors:
// FAILED_PRECONDITION if processes differ, DEADLINE_EXCEEDED after the timeout, ABORTED if another
// process has failed or ended. vmap makes one operation on the batch. Derivatives exist for
// allreduce with op "sum", alltoall and sendrecv. All raise FAILED_PRECONDITION before
// initialize(), and INVALID_ARGUMENT for a process that does not exist.
#pragma once

#include <optional>
#include <string>

#include <farcall/core/export.h>
#include <farcall/program/processes.h>
#include <farcall/trace/array.h>

namespace farcall::mpi {

// Joins the job: every process calls this once, before programs of several processes. Initializes
// MPI if it is not initialized yet. Raises FAILED_PRECONDITION in a process that mpirun has not
// started, DEADLINE_EXCEEDED if other processes do not join in time.
FARCALL_API void initialize(const ProcessOptions& options = {});
// Leaves the job, and finalizes MPI if initialize() has initialized it.
FARCALL_API void shutdown();

// "sum" and "prod" for numbers; "max" and "min" for real numbers; "land", "lor" and "lxor" for
// bools and integers; "band", "bor" and "bxor" for integers. Operations raise INVALID_ARGUMENT for
// other names, and for elements that MPI cannot reduce, such as floats below 32 bits.
using Reduction = std::string;

// The elementwise reduction over all processes; every process gets the result. In forward mode the
// derivative is the sum of the tangents. In reverse mode each process keeps its own cotangent: the
// processes are assumed to compute one loss from the sum. Their losses are not added.
FARCALL_API Array allreduce(const Array& x, const Reduction& op = "sum");
// The same for process `root` only; the other processes get x.
FARCALL_API Array reduce(const Array& x, const Reduction& op, int root);
// The inclusive prefix reduction: over the processes up to this one.
FARCALL_API Array scan(const Array& x, const Reduction& op = "sum");
// The arrays of all processes, stacked along a new first dimension.
FARCALL_API Array allgather(const Array& x);
// The same for process `root` only; the other processes get x.
FARCALL_API Array gather(const Array& x, int root);
// x[i] of process `root` goes to process i. On `root`, the first dimension of x is the number of
// processes; the other processes pass an array of the result's type.
FARCALL_API Array scatter(const Array& x, int root);
// x[i] goes to process i; result[i] comes from process i. The first dimension of x is the number of
// processes.
FARCALL_API Array alltoall(const Array& x);
// The array of process `root`; the other processes pass an array of the same type.
FARCALL_API Array bcast(const Array& x, int root);
FARCALL_API void barrier();

// Point-to-point: both sides pass the same tag, from 0 to Processes::kMaxTag. `like` has the type
// of the result.
FARCALL_API void send(const Array& x, int destination, int tag = 0);
FARCALL_API Array recv(const Array& like, int source, int tag = 0);
// Sends and receives at the same time. Without a destination nothing is sent; without a source the
// result is `like`.
FARCALL_API Array sendrecv(const Array& x, const Array& like, std::optional<int> source,
                           std::optional<int> destination, int send_tag = 0, int receive_tag = 0);

}  // namespace farcall::mpi
