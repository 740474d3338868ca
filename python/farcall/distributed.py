"""Several processes, which mpirun has started, that run one program together."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Sequence
from pathlib import Path

from farcall import _core
from farcall._checkpoints import load as load
from farcall._checkpoints import save as save

__all__ = ["initialize", "is_initialized", "load", "save", "shutdown"]

_LIBRARY = Path(__file__).resolve().parent / "libfarcall_mpi.so"


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: int | Sequence[int] | None = None,
    *,
    timeout: float = 300.0,
    check: bool = True,
) -> None:
    """Joins the processes that ``mpirun -n …`` has started. Each calls this once, before arrays.

    From then on ``devices()`` are those of all processes, of which each has its
    ``local_devices()``. MPI is initialised here unless it is already, as by mpi4py, and finalized
    when the program ends. All processes have to run the same programs over their common devices, in
    the same order; where they do not, where one fails or ends, and where one does not come in time,
    the others raise.

    Args:
      coordinator_address, local_device_ids: for programs written for JAX; without effect.
      num_processes, process_id: what mpirun has set; need not be given.
      timeout: how long to wait for other processes, in seconds.
      check: whether each operation of ``farcall.mpi`` first compares what the processes run.

    Raises:
      RuntimeError: in a process that mpirun has not started, where farcall was built without MPI,
        on a second call, and when not all processes call it in time.
      ValueError: for a timeout that is not positive, and another ``num_processes`` or
        ``process_id`` than mpirun has set.
    """
    del coordinator_address, local_device_ids
    _core.distributed.open(str(_LIBRARY), float(timeout), bool(check))
    atexit.register(_end)
    set_by_mpirun = {
        "num_processes": (num_processes, _core.distributed.process_count()),
        "process_id": (process_id, _core.distributed.process_index()),
    }
    for name, (given, is_set) in set_by_mpirun.items():
        if given is not None and given != is_set:
            raise ValueError(f"distributed.initialize: {name} is {given}, and mpirun set {is_set}")


def is_initialized() -> bool:
    """Whether this process has joined others."""
    return _core.distributed.is_open()


def shutdown() -> None:
    """Leaves the other processes, which the end of the program does too.

    Arrays over several processes stay readable where they are; programs on them no longer run.
    """
    _core.distributed.close("")


def _end() -> None:
    for stream in (sys.stdout, sys.stderr):  # a job that has failed may end at once
        if stream is not None:
            stream.flush()
    error = getattr(sys, "last_value", None)  # what has ended the program
    _core.distributed.close("" if error is None else f"{type(error).__name__}: {error}")
