"""Operations of MPI between the processes of ``farcall.distributed``.

They are eager on arrays, and inside ``jit``, ``grad``, ``vmap``, ``scan``, ``while_loop`` and
``cond`` they run in the order in which the program has them. ``vmap`` makes one operation on the
batch. Of derivatives there are those of ``allreduce`` of sums, ``alltoall`` and ``sendrecv``.

Each raises RuntimeError before ``distributed.initialize()``, ValueError for a process that is not
there and for elements that MPI cannot reduce, and ``FfiError`` when the operation fails: where the
processes run different operations, where another one has failed or ended, or does not come in time.
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
    """
    return _call("allreduce", x, op=op)


def reduce(x: Any, op: str = SUM, root: int = 0) -> Array:
    """The same for process ``root``; the others get ``x``."""
    return _call("reduce", x, op=op, root=root)


def scan(x: Any, op: str = SUM) -> Array:
    """The ``x`` of the processes up to this one, reduced element by element."""
    return _call("scan", x, op=op)


def allgather(x: Any) -> Array:
    """The ``x`` of all processes, stacked along a new first dimension."""
    return _call("allgather", x)


def gather(x: Any, root: int = 0) -> Array:
    """The same for process ``root``; the others get ``x``."""
    return _call("gather", x, root=root)


def scatter(x: Any, root: int = 0) -> Array:
    """``x[i]`` of process ``root`` for process i.

    On ``root`` the first dimension of ``x`` is the number of processes; the others give an array of
    the result's shape and dtype.
    """
    return _call("scatter", x, root=root)


def alltoall(x: Any) -> Array:
    """``x[i]`` goes to process i; what comes from process i is ``result[i]``.

    The first dimension of ``x`` is the number of processes.
    """
    return _call("alltoall", x)


def bcast(x: Any, root: int = 0) -> Array:
    """The ``x`` of process ``root``; the others give an array of its shape and dtype."""
    return _call("bcast", x, root=root)


def barrier() -> None:
    """Waits until all processes have come here."""
    _call("barrier")


def send(x: Any, dest: int, tag: int = 0) -> None:
    """Sends ``x`` to a process that receives with the same tag."""
    _call("send", x, destination=dest, tag=tag)


def recv(x: Any, source: int, tag: int = 0) -> Array:
    """What a process sends with this tag; ``x`` has its shape and dtype."""
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
