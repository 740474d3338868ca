// The reductions of MPI, by name and element type.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string_view>

#include <farcall/core/dtype.h>

namespace farcall::mpi {

struct Reduce {
  MPI_Op op;
  MPI_Datatype type;
  DType dtype;

  // Makes the results of logical reductions 0 or 1: MPI returns the value of a single process, such
  // as the first one of a scan, as it is.
  void finish(void* data, size_t count) const;
};

// Raises INVALID_ARGUMENT if MPI does not have this reduction.
Reduce reduction(std::string_view name, DType dtype);

}  // namespace farcall::mpi
