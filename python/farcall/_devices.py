"""Engines and their devices, and which device is the default."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from farcall import _core, tree

Device = _core.Device


def devices_of(backend: str | None, where: str) -> list[Device]:
    """The devices of a platform or an engine; of the default engine if ``backend`` is None.

    Raises:
      RuntimeError: for an unknown platform or engine.
    """
    if backend is None:
        backend = _core.devices.default_device().engine
    try:
        return _core.devices.find_devices(backend)
    except (LookupError, RuntimeError) as error:
        raise RuntimeError(f"{where}: {error.args[0]}") from None


def is_local(device: Device) -> bool:
    """Whether the device belongs to this process."""
    return device.process_index == _core.distributed.process_index()


def devices(backend: str | None = None) -> list[Device]:
    """The devices of a platform or of an engine; by default those of the default engine.

    After ``distributed.initialize()``, the devices of all processes, in order of their ids.

    Args:
      backend: a platform (``cpu``) or the name of an engine (``native``).

    Raises:
      RuntimeError: for an unknown platform or engine.
    """
    return sorted(devices_of(backend, "devices"), key=lambda device: device.id)


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """The devices of a process; by default those of this process.

    Raises:
      RuntimeError: for an unknown platform or engine.
      ValueError: for a process index out of range.
    """
    found = devices_of(backend, "local_devices")
    number = _core.distributed.process_index()
    for given in (process_index, host_id):
        number = number if given is None else given
    count = _core.distributed.process_count()
    if not (isinstance(number, (int, np.integer)) and 0 <= number < count):
        raise ValueError(
            f"local_devices: process index {number!r} is out of range; "
            f"{'the only process is 0' if count == 1 else f'processes are 0 to {count - 1}'}"
        )
    return [device for device in found if device.process_index == number]


def default_backend() -> str:
    """The platform on which programs run."""
    return _core.devices.default_device().platform


def device_count(backend: str | None = None) -> int:
    """The number of devices."""
    return len(devices_of(backend, "device_count"))


def local_device_count(backend: str | None = None) -> int:
    """The number of devices of this process."""
    return sum(map(is_local, devices_of(backend, "local_device_count")))


def process_count(backend: str | None = None) -> int:
    """The number of processes."""
    devices_of(backend, "process_count")
    return _core.distributed.process_count()


def process_index(backend: str | None = None) -> int:
    """The index of this process."""
    devices_of(backend, "process_index")
    return _core.distributed.process_index()


def process_indices(backend: str | None = None) -> list[int]:
    """The indices of all processes."""
    devices_of(backend, "process_indices")
    return list(range(_core.distributed.process_count()))


host_count, host_id, host_ids = process_count, process_index, process_indices


class default_device(contextlib.ContextDecorator):  # noqa: N801
    """A context manager or decorator that sets the default device of programs.

    Programs of committed arrays still run on the device of these arrays.

    Args:
      device: a Device, the name of a platform or engine (its first device), or None for the default
        of the process.

    Raises:
      ValueError: for a device that does not exist.
      TypeError: for anything else.
    """

    def __init__(self, device: Device | str | None) -> None:
        self._device = as_device(device, "default_device")
        self._before: list[int] = []

    def __enter__(self) -> None:
        self._before.append(_core.devices.set_device_on_thread(self._device))

    def __exit__(self, *_: object) -> None:
        _core.devices.restore_device_on_thread(self._before.pop())


def as_device(value: Any, where: str) -> Device | None:
    """The device, or the first device of a platform or engine given by name; None for None."""
    if value is None or isinstance(value, Device):
        return value
    if not isinstance(value, str):
        raise TypeError(f"{where}: expected a Device or the name of a platform, got {value!r}")
    try:
        return devices_of(value, where)[0]
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def device_get(x: Any) -> Any:
    """Converts the arrays of ``x`` to read-only numpy arrays, which share memory on the host."""
    return tree.map(
        lambda leaf: _core.devices.device_get(leaf) if hasattr(leaf, "__array__") else leaf, x
    )


def _unpickled(engine: str, id: int) -> Device:
    for device in _core.devices.find_devices(engine):
        if device.id == id:
            return device
    raise RuntimeError(f"engine {engine!r} has no device {id} in this process")
