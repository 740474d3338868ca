"""The live arrays, the pool of large memory blocks, and transfers between memories.

The flag ``memory_pool_limit`` limits the bytes that the pool keeps.
"""

from __future__ import annotations

from typing import NamedTuple

from farcall import _core
from farcall._devices import devices_of
from farcall._placement import sharding_of


def live_arrays(platform: str | None = None) -> list[_core.Array]:
    """The concrete arrays of this process that are in use, oldest first.

    Args:
      platform: a platform (``cpu``) or the name of an engine, whose devices hold the arrays; by
        default that of the default device.

    Raises:
      RuntimeError: for an unknown platform or engine.
    """
    wanted = set(devices_of(platform, "live_arrays"))
    return [array for array in _core.live_arrays() if wanted & sharding_of(array).device_set]


class MemoryPoolInfo(NamedTuple):
    """Statistics of memory blocks of at least 1 MiB, used by arrays and programs."""

    bytes_in_use: int  #: bytes of blocks in use
    peak_bytes_in_use: int  #: the maximum since the start, or since ``clear_memory_pool()``
    bytes_kept: int  #: bytes of free blocks
    limit: int  #: the maximum of ``bytes_kept``: the flag ``memory_pool_limit``
    hits: int  #: blocks that were reused
    misses: int  #: blocks allocated from the system


def memory_pool_info() -> MemoryPoolInfo:
    """Statistics of the process-wide pool of large memory blocks."""
    return MemoryPoolInfo(*_core.memory_pool_info())


def clear_memory_pool() -> None:
    """Returns the free blocks of the pool to the system."""
    _core.clear_memory_pool()


class TransferCount(NamedTuple):
    """Transfers in one direction."""

    transfers: int  #: how many; each shard of a sharded array counts
    bytes: int  #: the bytes of the arrays


class TransferInfo(NamedTuple):
    """Transfers between the host and devices since the process began."""

    host_to_device: TransferCount
    device_to_host: TransferCount
    device_to_device: TransferCount


def transfer_info() -> TransferInfo:
    """How many arrays were moved between the host and devices, and their bytes.

    The host is the native engine's first device. Copies that foreign calls on the host make for a
    device's program, and a program's constants, are not counted.
    """
    return TransferInfo(*(TransferCount(*counts) for counts in _core.devices.transfer_counts()))
