"""Several processes, started by mpirun, that run one program together."""

from __future__ import annotations

import atexit
import os
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from farcall import _core
from farcall._devices import is_local
from farcall._lazy import lazy_names

if TYPE_CHECKING:
    from farcall._checkpoints import load as load
    from farcall._checkpoints import save as save

__all__ = ["initialize", "is_initialized", "load", "save", "shutdown"]

__getattr__ = lazy_names(globals(), dict.fromkeys(("load", "save"), "farcall._checkpoints"))

_LIBRARY = os.path.join(os.path.dirname(os.path.realpath(__file__)), "libfarcall_mpi.so")


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: int | Sequence[int] | None = None,
    *,
    timeout: float = 300.0,
    check: bool = True,
) -> None:
    """Joins the processes started by ``mpirun -n …``. Call it once, before creating arrays.

    Afterwards ``devices()`` returns the devices of all processes, and ``local_devices()`` those of
    this process. The devices of a plugin belong to one process: if ``pjrt`` is the default engine,
    ``devices("native")`` are those of all processes, and a RuntimeWarning says so. MPI is
    initialized here unless it already is, for example by mpi4py; it is finalized when the program
    ends. All processes must run the same programs over their common devices, in the same order. If
    they differ, or if a process fails, ends or exceeds the timeout, the other processes raise an
    error.

    Args:
      coordinator_address, local_device_ids: accepted for compatibility with JAX; ignored.
      num_processes, process_id: optional; must agree with mpirun.
      timeout: the time to wait for other processes, in seconds.
      check: whether each operation of ``farcall.mpi`` first checks that all processes run the same
        one.

    Raises:
      TypeError: for a timeout that is not a number.
      RuntimeError: if mpirun did not start the process, if farcall was built without MPI, on a
        second call, and if not all processes call it within the timeout.
      ValueError: for a timeout that is not positive, and if ``num_processes`` or ``process_id``
        differs from mpirun's.
    """
    del coordinator_address, local_device_ids
    try:
        seconds = float(timeout)
    except (TypeError, ValueError):
        raise TypeError(
            f"distributed.initialize: timeout must be a number of seconds, got {timeout!r}"
        ) from None
    _core.distributed.open(_LIBRARY, seconds, bool(check))
    atexit.register(_end)
    set_by_mpirun = {
        "num_processes": (num_processes, _core.distributed.process_count()),
        "process_id": (process_id, _core.distributed.process_index()),
    }
    for name, (given, is_set) in set_by_mpirun.items():
        if given is not None and given != is_set:
            raise ValueError(f"distributed.initialize: {name} is {given}, and mpirun set {is_set}")
    _warn_of_own_devices()


def _warn_of_own_devices() -> None:
    if _core.distributed.process_count() == 1 or _core.devices.default_device().engine != "pjrt":
        return
    if not all(map(is_local, _core.devices.find_devices("pjrt"))):
        return  # a plugin that connects processes
    warnings.warn(
        "distributed.initialize: the default engine is pjrt, so devices() are those of this "
        "process alone, and programs over them do not reach other processes. The devices of all "
        "processes are devices('native')",
        RuntimeWarning,
        stacklevel=3,
    )


def is_initialized() -> bool:
    """Whether this process has joined other processes."""
    return _core.distributed.is_open()


def shutdown() -> None:
    """Leaves the other processes. The end of the program does this automatically.

    The local shards of arrays over several processes stay readable; programs on such arrays no
    longer run.
    """
    _core.distributed.close("")


def _end() -> None:
    for stream in (sys.stdout, sys.stderr):  # flush first: a failed job may be killed immediately
        if stream is not None:
            stream.flush()
    error = getattr(sys, "last_value", None)  # the uncaught exception, if any
    _core.distributed.close("" if error is None else f"{type(error).__name__}: {error}")
