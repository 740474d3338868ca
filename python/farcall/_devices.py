"""Devices, of which there is one: the CPU."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any

import numpy as np

from farcall import tree


@dataclasses.dataclass(frozen=True)
class Device:
    """Where arrays lie and programs run."""

    platform: str
    id: int
    process_index: int = 0

    @property
    def device_kind(self) -> str:
        """What the device is called."""
        return self.platform

    @property
    def host_id(self) -> int:
        """The number of the process that it belongs to."""
        return self.process_index

    @property
    def local_hardware_id(self) -> int:
        """Its number in this machine."""
        return self.id

    def memory_stats(self) -> dict[str, int] | None:
        """How much memory is in use; None: the CPU's is not counted."""
        return None

    def __str__(self) -> str:
        return f"{self.platform}:{self.id}"

    def __repr__(self) -> str:
        return f"CpuDevice(id={self.id})"


CPU = Device("cpu", 0)


def check_platform(backend: Any, where: str) -> None:
    """Raises RuntimeError for a platform that is not there."""
    if backend not in (None, CPU.platform):
        raise RuntimeError(f"{where}: there is no platform {backend!r}; there is 'cpu'")


def devices(backend: str | None = None) -> list[Device]:
    """The devices of a platform, of the default one without a name.

    Raises:
      RuntimeError: for another platform than ``cpu``.
    """
    check_platform(backend, "devices")
    return [CPU]


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """The devices of this process, which are all.

    Raises:
      ValueError: for another process than 0, which is the only one.
    """
    check_platform(backend, "local_devices")
    for number in (process_index, host_id):
        if number not in (None, 0):
            raise ValueError(f"local_devices: there is no process {number}; there is 0")
    return [CPU]


def default_backend() -> str:
    """The platform on which programs run."""
    return CPU.platform


def device_count(backend: str | None = None) -> int:
    """The number of devices."""
    check_platform(backend, "device_count")
    return 1


def local_device_count(backend: str | None = None) -> int:
    """The number of devices of this process."""
    check_platform(backend, "local_device_count")
    return 1


def process_count(backend: str | None = None) -> int:
    """The number of processes."""
    check_platform(backend, "process_count")
    return 1


def process_index(backend: str | None = None) -> int:
    """The number of this process."""
    check_platform(backend, "process_index")
    return 0


def process_indices(backend: str | None = None) -> list[int]:
    """The numbers of all processes."""
    check_platform(backend, "process_indices")
    return [0]


host_count, host_id, host_ids = process_count, process_index, process_indices


class default_device(contextlib.ContextDecorator):  # noqa: N801
    """A with statement, or a decorator, in which arrays are made on this device.

    Args:
      device: a Device, the name of a platform, or None.

    Raises:
      ValueError: for a device that is not there.
    """

    def __init__(self, device: Device | str | None) -> None:
        if device is not None and device not in (CPU, CPU.platform):
            raise ValueError(f"default_device: there is no device {device!r}; there is {CPU!r}")

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def device_get(x: Any) -> Any:
    """``x`` with its arrays made numpy arrays, which share their memory and are read-only."""
    return tree.map(lambda leaf: np.asarray(leaf) if hasattr(leaf, "__array__") else leaf, x)
