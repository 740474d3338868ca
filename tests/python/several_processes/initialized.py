"""MPI is initialized by somebody else, who uses it too, and finalizes it: as mpi4py does."""

from __future__ import annotations

import ctypes

import farcall as fc
import numpy as np
import pytest

MULTIPLE = 3
mpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
level = ctypes.c_int()
assert mpi.MPI_Init_thread(None, None, MULTIPLE, ctypes.byref(level)) == 0
world = ctypes.c_void_p.in_dll(mpi, "ompi_mpi_comm_world")
rank = ctypes.c_int()
mpi.MPI_Comm_rank(ctypes.byref(world), ctypes.byref(rank))

fc.distributed.initialize(num_processes=2, timeout=60)
assert fc.process_index() == rank.value
assert fc.mpi.allreduce(np.float32(1)) == 2
mpi.MPI_Barrier(ctypes.byref(world))
fc.distributed.shutdown()
assert not fc.distributed.is_initialized()
assert len(fc.devices()) == 2  # which stay
with pytest.raises(RuntimeError, match="have been closed"):
    fc.mpi.allreduce(np.float32(1))
mpi.MPI_Barrier(ctypes.byref(world))
assert mpi.MPI_Finalize() == 0
