"""MPI operations between the processes of ``farcall.distributed``.

On concrete arrays they run immediately. Inside ``jit``, ``grad``, ``vmap``, ``scan``,
``while_loop`` and ``cond`` they run in program order. ``vmap`` makes one operation on the whole
batch. Derivatives exist for ``allreduce`` of sums, ``alltoall`` and ``sendrecv``.

An operation raises ``FfiError`` if the processes run different operations, if another process has
failed, ended or exceeded the timeout, or if a process index is out of range. Processes and tags are
integers, not arrays of a traced program; anything else is a TypeError, as is an ``op`` that is no
string.
"""

from __future__ import annotations

import operator
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

# Reductions of numbers, of bools and integers, of integers.
SUM, PROD, MAX, MIN = "sum", "prod", "max", "min"
LAND, LOR, LXOR = "land", "lor", "lxor"
BAND, BOR, BXOR = "band", "bor", "bxor"


def _call(name: str, *args: Any, **attributes: Any) -> Any:
    return _core.distributed.call(f"mpi.{name}", *args, **attributes)


def _operation(name: str, op: Any) -> str:
    if isinstance(op, str):
        return op
    raise TypeError(f"mpi.{name}: op must be a name such as mpi.SUM, got {op!r}")


def _integer(name: str, parameter: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(
            f"mpi.{name}: {parameter} must be an integer that is known while tracing, got "
            f"{value!r} of type {type(value).__name__}"
        ) from None


def _partner(parameter: str, process: Any) -> int:
    if process is None:
        return -1
    number = _integer("sendrecv", parameter, process)
    if number < 0:
        raise ValueError(
            f"mpi.sendrecv: {parameter} is {number}; processes are numbered from 0, and None is "
            "for no process"
        )
    return number


def allreduce(x: Any, op: str = SUM) -> Array:
    """Reduces ``x`` over all processes, element by element; all processes get the result.

    In forward mode, the tangent of a sum is the sum of the tangents. In reverse mode each process
    keeps its cotangent: all processes are assumed to compute the same loss from the sum.

    Raises:
      RuntimeError: before ``distributed.initialize()``.
      ValueError: for an unknown ``op``, and elements that MPI cannot reduce.
      FfiError: if the operation fails.
    """
    return _call("allreduce", x, op=_operation("allreduce", op))


def reduce(x: Any, op: str = SUM, root: int = 0) -> Array:
    """As ``allreduce``, but only process ``root`` gets the result; the others get ``x``.

    Raises:
      RuntimeError: before ``distributed.initialize()``.
      ValueError: for an unknown ``op``, elements that MPI cannot reduce, and ``root`` out of range.
      FfiError: if the operation fails.
    """
    return _call("reduce", x, op=_operation("reduce", op), root=_integer("reduce", "root", root))


def scan(x: Any, op: str = SUM) -> Array:
    """Reduces ``x`` over the processes up to this one, element by element.

    Raises:
      RuntimeError: before ``distributed.initialize()``.
      ValueError: for an unknown ``op``, and elements that MPI cannot reduce.
      FfiError: if the operation fails.
    """
    return _call("scan", x, op=_operation("scan", op))


def allgather(x: Any) -> Array:
    """Gathers ``x`` of all processes, stacked along a new first dimension.

    Raises:
      RuntimeError: before ``distributed.initialize()``.
      FfiError: if the operation fails.
    """
    return _call("allgather", x)


def gather(x: Any, root: int = 0) -> Array:
    """As ``allgather``, but only process ``root`` gets the result; the others get ``x``.

    Raises:
      RuntimeError: before ``distributed.initialize()``.
      ValueError: for a ``root`` out of range.
      FfiError: if the operation fails.
    """
    return _call("gather", x, root=_integer("gather", "root", root))


def scatter(x: Any, root: int = 0) -> Array:
    """Process i gets ``x[i]`` of process ``root``.

    On ``root`` the first dimension of ``x`` is the number of processes; the others pass an array
    with the shape and dtype of the result.

    Raises:
      RuntimeError: before ``distributed.initialize()``.
      ValueError: for a ``root`` out of range, and a wrong first dimension.
      FfiError: if the operation fails.
    """
    return _call("scatter", x, root=_integer("scatter", "root", root))


def alltoall(x: Any) -> Array:
    """Sends ``x[i]`` to process i; ``result[i]`` comes from process i.

    The first dimension of ``x`` is the number of processes.

    Raises:
      RuntimeError: before ``distributed.initialize()``.
      ValueError: for a wrong first dimension.
      FfiError: if the operation fails.
    """
    return _call("alltoall", x)


def bcast(x: Any, root: int = 0) -> Array:
    """Returns ``x`` of process ``root``; the others pass an array with its shape and dtype.

    Raises:
      RuntimeError: before ``distributed.initialize()``.
      ValueError: for a ``root`` out of range.
      FfiError: if the operation fails.
    """
    return _call("bcast", x, root=_integer("bcast", "root", root))


def barrier() -> None:
    """Waits until all processes have called it.

    Raises:
      RuntimeError: before ``distributed.initialize()``.
      FfiError: if the operation fails.
    """
    _call("barrier")


def send(x: Any, dest: int, tag: int = 0) -> None:
    """Sends ``x`` to a process that receives with the same tag.

    Raises:
      RuntimeError: before ``distributed.initialize()``.
      FfiError: if the operation fails.
    """
    _call("send", x, destination=_integer("send", "dest", dest), tag=_integer("send", "tag", tag))


def recv(x: Any, source: int, tag: int = 0) -> Array:
    """Receives an array with this tag from a process; ``x`` gives its shape and dtype.

    Raises:
      RuntimeError: before ``distributed.initialize()``.
      FfiError: if the operation fails.
    """
    return _call(
        "recv", x, source=_integer("recv", "source", source), tag=_integer("recv", "tag", tag)
    )


def sendrecv(
    sendbuf: Any,
    recvbuf: Any,
    source: int | None,
    dest: int | None,
    sendtag: int = 0,
    recvtag: int = 0,
) -> Array:
    """Sends to one process and receives from another at the same time.

    Args:
      sendbuf: the array to send.
      recvbuf: gives the shape and dtype of the result; it is the result if ``source`` is None.
      source, dest: the processes; None for no process, as at the ends of a line of processes.
      sendtag, recvtag: from 0 to 2**24 - 1.

    Raises:
      RuntimeError: before ``distributed.initialize()``.
      ValueError: for a negative process.
      FfiError: if the operation fails.
    """
    return _call(
        "sendrecv",
        sendbuf,
        recvbuf,
        source=_partner("source", source),
        destination=_partner("dest", dest),
        send_tag=_integer("sendrecv", "sendtag", sendtag),
        receive_tag=_integer("sendrecv", "recvtag", recvtag),
    )
