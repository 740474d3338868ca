"""Devices, of which there is one: the CPU."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from farcall import _core, tree


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

    def __str__(self) -> str:
        return f"{self.platform.upper()}_{self.id}"


_CPU = Device("cpu", 0)


def devices(backend: str | None = None) -> list[Device]:
    """The devices of a platform, of the default one without a name.

    Raises:
      RuntimeError: for another platform than ``cpu``.
    """
    if backend not in (None, "cpu"):
        raise RuntimeError(f"devices: there is no platform {backend!r}; there is cpu")
    return [_CPU]


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """The devices of this process, which are all."""
    del process_index, host_id
    return devices(backend)


def default_backend() -> str:
    """The platform on which programs run."""
    return _CPU.platform


def device_count(backend: str | None = None) -> int:
    """The number of devices."""
    return len(devices(backend))


def device_put(x: Any, device: Any = None) -> Any:
    """``x`` with arrays, numbers and numpy arrays at its leaves made arrays of the device.

    Args:
      x: a pytree.
      device: a Device, or None.

    Raises:
      TypeError: for a leaf that is no array.
      ValueError: for another device.
    """
    if device is not None and device != _CPU:
        raise ValueError(f"device_put: there is no device {device!r}; there is {_CPU!r}")
    return tree.map(_core.as_array, x)


def device_get(x: Any) -> Any:
    """``x`` with its arrays made numpy arrays, which share their memory and are read-only."""
    return tree.map(lambda leaf: np.asarray(leaf) if hasattr(leaf, "__array__") else leaf, x)
