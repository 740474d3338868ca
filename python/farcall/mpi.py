"""Operations of MPI between the processes of ``farcall.distributed``.

They are eager on arrays, and inside ``jit``, ``grad``, ``vmap``, ``scan``, ``while_loop`` and
``cond`` they run in the order in which the program has them. ``vmap`` makes one operation on the
batch. Of derivatives there are those of ``allreduce`` of sums, ``alltoall`` and ``sendrecv``.

An operation fails, with an ``FfiError``, where the processes run different ones, where another
process has failed or ended, does not come in time, or is not there.
"""

from __future__ import annotations

from typing import Any

from farcall import _core
from farcall._array import Array

__all__ = [
    "BAND",
    "BOR",
    "BXOR",
    "LAND",
    "LOR",
    "LXOR",
    "MAX",
    "MIN",
    "PROD",
    "SUM",
    "allgather",
    "allreduce",
    "alltoall",
    "barrier",
    "bcast",
    "gather",
    "recv",
    "reduce",
    "scan",
    "scatter",
    "send",
    "sendrecv",
]

# Of numbers, of bools, of integers.
SUM, PROD, MAX, MIN = "sum", "prod", "max", "min"
LAND, LOR, LXOR = "land", "lor", "lxor"
BAND, BOR, BXOR = "band", "bor", "bxor"


def _call(name: str, *args: Any, **attributes: Any) -> Any:
    return _core.distributed.call(f"mpi.{name}", *args, **attributes)


def allreduce(x: Any, op: str = SUM) -> Array:
    """The ``x`` of all processes, reduced element by element, for all of them.

    The derivative of a sum in forward mode is the sum of the tangents. In reverse mode each process
    keeps its cotangent: the processes are taken to compute one and the same loss from the sum.

    Raises:
      RuntimeError: before ``distributed.initialize()``.
      ValueError: for another ``op``, and elements that MPI cannot reduce.
      FfiError: when the operation fails.
    """
    return _call("allreduce", x, op=op)


def reduce(x: Any, op: str = SUM, root: int = 0) -> Array:
    """The same for process ``root``; the others get ``x``.

    Raises:
      RuntimeError: before ``distributed.initialize()``.
      ValueError: for another ``op``, elements that MPI cannot reduce, and a ``root`` that is
        not there.
      FfiError: when the operation fails.
    """
    return _call("reduce", x, op=op, root=root)


def scan(x: Any, op: str = SUM) -> Array:
    """The ``x`` of the processes up to this one, reduced element by element.

    Raises:
      RuntimeError: before ``distributed.initialize()``.
      ValueError: for another ``op``, and elements that MPI cannot reduce.
      FfiError: when the operation fails.
    """
    return _call("scan", x, op=op)


def allgather(x: Any) -> Array:
    """The ``x`` of all processes, stacked along a new first dimension.

    Raises:
      RuntimeError: before ``distributed.initialize()``.
      FfiError: when the operation fails.
    """
    return _call("allgather", x)


def gather(x: Any, root: int = 0) -> Array:
    """The same for process ``root``; the others get ``x``.

    Raises:
      RuntimeError: before ``distributed.initialize()``.
      ValueError: for a ``root`` that is not there.
      FfiError: when the operation fails.
    """
    return _call("gather", x, root=root)


def scatter(x: Any, root: int = 0) -> Array:
    """``x[i]`` of process ``root`` for process i.

    On ``root`` the first dimension of ``x`` is the number of processes; the others give an array of
    the result's shape and dtype.

    Raises:
      RuntimeError: before ``distributed.initialize()``.
      ValueError: for a ``root`` that is not there, and another first dimension.
      FfiError: when the operation fails.
    """
    return _call("scatter", x, root=root)


def alltoall(x: Any) -> Array:
    """``x[i]`` goes to process i; what comes from process i is ``result[i]``.

    The first dimension of ``x`` is the number of processes.

    Raises:
      RuntimeError: before ``distributed.initialize()``.
      ValueError: for another first dimension.
      FfiError: when the operation fails.
    """
    return _call("alltoall", x)


def bcast(x: Any, root: int = 0) -> Array:
    """The ``x`` of process ``root``; the others give an array of its shape and dtype.

    Raises:
      RuntimeError: before ``distributed.initialize()``.
      ValueError: for a ``root`` that is not there.
      FfiError: when the operation fails.
    """
    return _call("bcast", x, root=root)


def barrier() -> None:
    """Waits until all processes have come here.

    Raises:
      RuntimeError: before ``distributed.initialize()``.
      FfiError: when the operation fails.
    """
    _call("barrier")


def send(x: Any, dest: int, tag: int = 0) -> None:
    """Sends ``x`` to a process that receives with the same tag.

    Raises:
      RuntimeError: before ``distributed.initialize()``.
      FfiError: when the operation fails.
    """
    _call("send", x, destination=dest, tag=tag)


def recv(x: Any, source: int, tag: int = 0) -> Array:
    """What a process sends with this tag; ``x`` has its shape and dtype.

    Raises:
      RuntimeError: before ``distributed.initialize()``.
      FfiError: when the operation fails.
    """
    return _call("recv", x, source=source, tag=tag)


def sendrecv(
    sendbuf: Any,
    recvbuf: Any,
    source: int | None,
    dest: int | None,
    sendtag: int = 0,
    recvtag: int = 0,
) -> Array:
    """Sends to one process and receives from another one at the same time.

    Args:
      sendbuf: what is sent.
      recvbuf: has the shape and dtype of the result; it is the result without a source.
      source, dest: the processes; None for none, as at the ends of a line of processes.
      sendtag, recvtag: from 0 to 2**24 - 1.

    Raises:
      RuntimeError: before ``distributed.initialize()``.
      FfiError: when the operation fails.
    """
    return _call(
        "sendrecv",
        sendbuf,
        recvbuf,
        source=-1 if source is None else source,
        destination=-1 if dest is None else dest,
        send_tag=sendtag,
        receive_tag=recvtag,
    )
