"""The pool of large blocks of memory. The flag ``memory_pool_limit`` bounds what it keeps."""

from __future__ import annotations

from typing import NamedTuple

from farcall import _core


class MemoryPoolInfo(NamedTuple):
    """The blocks of 1 MiB and more that arrays and programs lie in."""

    bytes_in_use: int  #: of the blocks that are in use
    peak_bytes_in_use: int  #: the most since the start, or since ``clear_memory_pool()``
    bytes_kept: int  #: of the free blocks
    limit: int  #: the most that ``bytes_kept`` may be: the flag ``memory_pool_limit``
    hits: int  #: blocks that were used again
    misses: int  #: blocks that came from the system


def memory_pool_info() -> MemoryPoolInfo:
    """What the pool of large blocks of memory holds, for the whole process."""
    return MemoryPoolInfo(*_core.memory_pool_info())


def clear_memory_pool() -> None:
    """Gives the free blocks of the pool back to the system."""
    _core.clear_memory_pool()
