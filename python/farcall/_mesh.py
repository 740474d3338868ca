"""Meshes: devices in a grid whose dimensions have names."""

from __future__ import annotations

import contextlib
import enum
import math
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from farcall import _core, _devices
from farcall._devices import Device, is_local


class AxisType(enum.Enum):
    """How the sharding of arrays over a mesh axis is decided."""

    Auto = 0
    Explicit = 1
    Manual = 2

    def __repr__(self) -> str:
        return self.name


class _AnyMesh:
    """Common properties of meshes and abstract meshes."""

    axis_names: tuple[str, ...]
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]

    def _set_axes(self, sizes: Any, names: Any, types: Any, where: str) -> None:
        names = (names,) if isinstance(names, str) else tuple(names)
        sizes = tuple(int(size) for size in sizes)
        if not all(isinstance(name, str) for name in names):
            raise TypeError(f"{where}: axis_names must be strings, got {names!r}")
        if len(names) != len(sizes):
            raise ValueError(
                f"{where}: {len(names)} axis names {names!r} for {len(sizes)} dimensions {sizes}"
            )
        if len(set(names)) != len(names):
            raise ValueError(f"{where}: an axis is named twice in {names!r}")
        if types is None:
            types = (AxisType.Auto,) * len(names)
        types = (types,) * len(names) if isinstance(types, AxisType) else tuple(types)
        if len(types) != len(names) or not all(isinstance(kind, AxisType) for kind in types):
            raise ValueError(
                f"{where}: axis_types must be an AxisType for each axis, got {types!r}"
            )
        self.axis_names, self.axis_sizes, self.axis_types = names, sizes, types

    @property
    def shape(self) -> OrderedDict[str, int]:
        """The size of each axis, by its name."""
        return OrderedDict(self.shape_tuple)

    @property
    def shape_tuple(self) -> tuple[tuple[str, int], ...]:
        """Pairs of axis names and sizes."""
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def size(self) -> int:
        """The number of devices."""
        return math.prod(self.axis_sizes) if self.axis_names else 0

    @property
    def empty(self) -> bool:
        """Whether the mesh has no axes."""
        return not self.axis_names

    def _of_type(self, kind: AxisType) -> tuple[str, ...]:
        pairs = zip(self.axis_names, self.axis_types, strict=True)
        return tuple(name for name, of in pairs if of is kind)

    @property
    def auto_axes(self) -> tuple[str, ...]:
        """The axes of type Auto."""
        return self._of_type(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[str, ...]:
        """The axes of type Explicit."""
        return self._of_type(AxisType.Explicit)

    @property
    def manual_axes(self) -> tuple[str, ...]:
        """The axes of type Manual."""
        return self._of_type(AxisType.Manual)

    def _axes_text(self) -> str:
        axes = ", ".join(f"{name!r}: {size}" for name, size in self.shape_tuple)
        return f"{axes or '()'}, axis_types={self.axis_types!r}"


class AbstractMesh(_AnyMesh):
    """The axes of a mesh, without devices."""

    def __init__(self, axis_sizes: Any, axis_names: Any, axis_types: Any = None) -> None:
        self._set_axes(axis_sizes, axis_names, axis_types, "AbstractMesh")

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """This mesh."""
        return self

    def _key(self) -> Any:
        return (self.axis_names, self.axis_sizes, self.axis_types)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractMesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"AbstractMesh({self._axes_text()})"


class Mesh(_AnyMesh, contextlib.ContextDecorator):
    """Devices in a grid with named dimensions. A with statement makes the mesh current.

    Args:
      devices: an array of devices with one dimension for each axis.
      axis_names: the names of the axes.
      axis_types: an AxisType for each axis; Auto by default.

    Raises:
      ValueError: if the number of names or types is not the number of dimensions.
      TypeError: for elements of ``devices`` that are not devices of farcall.
    """

    def __init__(self, devices: Any, axis_names: Any, axis_types: Any = None) -> None:
        if not isinstance(devices, np.ndarray):
            devices = np.array(devices, dtype=object)
        for device in devices.flat:
            if devices.ndim > 0 and not isinstance(device, Device):
                kind = f"{type(device).__module__}.{type(device).__name__}"
                raise TypeError(
                    "Mesh: devices must be devices of farcall, such as those of farcall.devices(); "
                    f"got {device!r} of type {kind}"
                )
        self.devices: np.ndarray[Any, np.dtype[Any]] = devices.copy()
        self.devices.flags.writeable = False
        self._set_axes(devices.shape, axis_names, axis_types, "Mesh")

    @property
    def device_ids(self) -> np.ndarray[Any, np.dtype[Any]]:
        """The id of each device."""
        return np.vectorize(lambda device: device.id, otypes=[int])(self.devices)

    @property
    def local_devices(self) -> list[Device]:
        """The devices of this process."""
        return list(filter(is_local, self.devices.flat))

    @property
    def local_mesh(self) -> Mesh:
        """The part of the mesh whose devices belong to this process.

        Raises:
          ValueError: if these devices do not form a subgrid.
        """
        if not self.is_multi_process:
            return self
        places = np.argwhere(np.vectorize(is_local, otypes=[bool])(self.devices))
        if len(places) == 0:
            raise ValueError("local_mesh: no device of the mesh belongs to this process")
        box = tuple(
            slice(start, stop + 1)
            for start, stop in zip(places.min(axis=0), places.max(axis=0), strict=True)
        )
        local = self.devices[box]
        if local.size != len(places):
            raise ValueError(
                "local_mesh: the devices of this process do not form a grid in the mesh"
            )
        return Mesh(local, self.axis_names, self.axis_types)

    @property
    def is_multi_process(self) -> bool:
        """Whether some devices belong to other processes."""
        return not all(map(is_local, self.devices.flat))

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The axes without the devices."""
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types)

    def _key(self) -> Any:
        return (tuple(self.devices.flat), self.axis_names, self.axis_sizes, self.axis_types)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __enter__(self) -> Mesh:
        _meshes().append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _meshes().pop()

    def __repr__(self) -> str:
        return f"Mesh({self._axes_text()})"


class _Thread(threading.local):
    def __init__(self) -> None:
        self.meshes: list[Mesh] = []


_thread = _Thread()


def _meshes() -> list[Mesh]:
    return _thread.meshes


_NO_MESH = Mesh(np.empty((), dtype=object), ())


def get_mesh() -> Mesh:
    """The current mesh, set by ``set_mesh`` or a with statement; an empty mesh if there is none."""
    return _meshes()[-1] if _meshes() else _NO_MESH


def get_abstract_mesh() -> AbstractMesh:
    """The axes of the current mesh."""
    return get_mesh().abstract_mesh


class set_mesh:  # noqa: N801
    """Makes a mesh current: for the body of a with statement, or until the next call."""

    def __init__(self, mesh: Mesh) -> None:
        if not isinstance(mesh, Mesh):
            raise TypeError(f"set_mesh: expected a Mesh, got {mesh!r}")
        self._before = list(_meshes())
        _meshes().append(mesh)

    def __enter__(self) -> Mesh:
        return get_mesh()

    def __exit__(self, *_: object) -> None:
        _meshes()[:] = self._before


use_mesh = set_mesh


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[str],
    axis_types: Any = None,
    *,
    devices: Sequence[Device] | None = None,
) -> Mesh:
    """Makes a mesh with the given axis sizes.

    Args:
      axis_shapes: the size of each axis.
      axis_names: the names of the axes.
      axis_types: an AxisType for each axis; Explicit by default.
      devices: the available devices, all by default; the mesh uses the first ones that it needs.

    Raises:
      ValueError: for a size below one, and if the sizes need more devices than there are.
    """
    found = list(_devices.devices() if devices is None else devices)
    sizes = _core.to_sizes(axis_shapes, "make_mesh: axis_shapes")
    if any(size < 1 for size in sizes):
        raise ValueError(f"make_mesh: the sizes in axis_shapes must be at least 1, got {sizes}")
    wanted = math.prod(sizes)
    if wanted > len(found):
        raise ValueError(
            f"make_mesh: axis_shapes {sizes} needs {wanted} devices, but there "
            f"{'is' if len(found) == 1 else 'are'} {len(found)}; set the flag num_cpu_devices "
            "to divide the host into more"
        )
    grid = np.empty(wanted, dtype=object)
    grid[:] = found[:wanted]
    if axis_types is None:
        axis_types = (AxisType.Explicit,) * len(axis_names)
    return Mesh(grid.reshape(sizes), axis_names, axis_types)
