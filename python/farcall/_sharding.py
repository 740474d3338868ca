"""Shardings: the distribution of an array's elements over devices."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from farcall import _core
from farcall._devices import Device, is_local, local_devices
from farcall._layout import Format
from farcall._mesh import AbstractMesh, AxisType, Mesh, get_mesh
from farcall._partition_spec import PartitionSpec, axes_of


class Sharding:
    """The distribution of an array's elements over devices."""

    memory_kind: str | None = "device"

    @property
    def device_set(self) -> set[Device]:
        """The devices."""
        return set(local_devices()[:1])

    @property
    def addressable_devices(self) -> set[Device]:
        """The devices of this process."""
        return set(filter(is_local, self.device_set))

    @property
    def num_devices(self) -> int:
        """The number of devices."""
        return len(self.device_set)

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device holds all elements."""
        return True

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices belong to this process."""
        return all(map(is_local, self.device_set))

    @property
    def has_addressable_devices(self) -> bool:
        """Whether any device belongs to this process."""
        return any(map(is_local, self.device_set))

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of a device's shard of an array of this shape.

        Raises:
          ValueError: for a shape that this sharding cannot split.
        """
        return tuple(global_shape)

    def devices_indices_map(self, global_shape: Sequence[int]) -> Mapping[Device, Any]:
        """For each device, the slices that it holds of an array of this shape.

        Raises:
          ValueError: for a shape that this sharding cannot split.
        """
        whole = tuple(slice(None) for _ in global_shape)
        return dict.fromkeys(self.device_set, whole)

    def addressable_devices_indices_map(self, global_shape: Sequence[int]) -> Mapping[Device, Any]:
        """The same, for the devices of this process."""
        of_all = self.devices_indices_map(global_shape)
        return {device: index for device, index in of_all.items() if is_local(device)}

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Whether both place arrays of this rank in the same way, with devices in one order."""
        if not isinstance(other, Sharding) or self.device_set != other.device_set:
            return False
        shape = (self.num_devices,) * ndim  # divisible by every number of parts
        mine, others = (
            [(device, _bounds(index, shape)) for device, index in map_of(shape).items()]
            for map_of in (self.devices_indices_map, other.devices_indices_map)
        )
        return mine == others

    def check_rank(self, shape: Sequence[int], where: str) -> None:
        """Raises ValueError if an array of this shape cannot have this sharding."""

    def with_memory_kind(self, kind: str) -> Sharding:
        """The same sharding in another memory; the only one is ``device``."""
        if kind != "device":
            raise ValueError(
                f"with_memory_kind: unknown memory {kind!r}; the only memory is 'device'"
            )
        return self


def _bounds(index: tuple[slice, ...], shape: Sequence[int]) -> list[tuple[int, int, int]]:
    return [part.indices(size) for part, size in zip(index, shape, strict=True)]


@dataclasses.dataclass(frozen=True)
class SingleDeviceSharding(Sharding):
    """All elements on one device."""

    device: Device
    memory_kind: str | None = dataclasses.field(default="device", kw_only=True, repr=False)

    @property
    def device_set(self) -> set[Device]:
        """The device."""
        return {self.device}

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self.device!r})"


class NamedSharding(Sharding):
    """The dimensions of an array split over the axes of a mesh.

    Args:
      mesh: the devices.
      spec: the axes that split each dimension.

    Raises:
      ValueError: for an axis that the mesh does not have.
    """

    def __init__(
        self, mesh: Mesh | AbstractMesh, spec: PartitionSpec, *, memory_kind: str | None = None
    ) -> None:
        if not isinstance(mesh, (Mesh, AbstractMesh)):
            raise TypeError(f"NamedSharding: mesh must be a Mesh, got {mesh!r}")
        if not isinstance(spec, PartitionSpec):
            raise TypeError(f"NamedSharding: spec must be a PartitionSpec, got {spec!r}")
        if memory_kind is not None:
            self.with_memory_kind(memory_kind)
        for entry in spec:
            for name in axes_of(entry):
                if name not in mesh.axis_names:
                    raise ValueError(
                        f"NamedSharding: {spec} names axis {name!r}, but the axes of the mesh are "
                        f"{', '.join(map(repr, mesh.axis_names)) or 'none'}"
                    )
        self.mesh, self.spec = mesh, spec

    @property
    def device_set(self) -> set[Device]:
        """The devices of the mesh."""
        return set(self.mesh.devices.flat) if isinstance(self.mesh, Mesh) else set()

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device holds all elements."""
        sizes = self.mesh.shape
        return all(sizes[name] == 1 for entry in self.spec for name in axes_of(entry))

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of a device's shard of an array of this shape.

        Raises:
          ValueError: if the spec has more entries than the array has dimensions, and if a dimension
            is not divisible by the number of its parts.
        """
        return self._cut(global_shape, "shard_shape")[0]

    def devices_indices_map(self, global_shape: Sequence[int]) -> Mapping[Device, Any]:
        """For each device, the slices that it holds of an array of this shape.

        Raises:
          ValueError: as ``shard_shape``, and for a mesh without devices.
        """
        if not isinstance(self.mesh, Mesh):
            raise ValueError("devices_indices_map: the mesh is abstract: it has no devices")
        return dict(
            zip(self.mesh.devices.flat, (i for i, _ in self.shards(global_shape)), strict=True)
        )

    def shards(self, global_shape: Sequence[int]) -> list[tuple[tuple[slice, ...], int]]:
        """For each device, in mesh order, its slices and the index of the replica."""
        sizes, parts = self._cut(global_shape, "sharding")

        def index(starts: tuple[int, ...]) -> tuple[slice, ...]:
            return tuple(
                slice(None) if size == whole else slice(start, start + size)
                for start, size, whole in zip(starts, sizes, global_shape, strict=True)
            )

        return [(index(starts), replica) for starts, replica in parts]

    def _cut(self, shape: Sequence[int], where: str) -> Any:
        return _core.sharding.cut(list(shape), self.axes(), self.entries(), where)

    def axes(self) -> Any:
        """The axes of the mesh, in the core's form."""
        types = (kind.value for kind in self.mesh.axis_types)
        return tuple(zip(self.mesh.axis_names, self.mesh.axis_sizes, types, strict=True))

    def entries(self) -> Any:
        """The spec, in the core's form."""
        return tuple(map(axes_of, self.spec))

    def in_core(self) -> Any:
        """The sharding, in the core's form."""
        devices = tuple(self.mesh.devices.flat) if isinstance(self.mesh, Mesh) else ()
        return self.axes(), devices, self.entries()

    def check_rank(self, shape: Sequence[int], where: str) -> None:
        """Raises ValueError if an array of this shape cannot be split by the spec."""
        if len(self.spec) > len(shape):
            raise ValueError(
                f"{where}: {self.spec} has {len(self.spec)} entries, but the array of shape "
                f"{tuple(shape)} has rank {len(shape)}"
            )
        self._cut(shape, where)

    def update(self, **options: Any) -> NamedSharding:
        """The sharding with another ``mesh`` or ``spec``."""
        return NamedSharding(**{"mesh": self.mesh, "spec": self.spec, **options})

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, NamedSharding) and self.mesh == other.mesh and self.spec == other.spec
        )

    def __hash__(self) -> int:
        return hash((self.mesh, self.spec))

    def __repr__(self) -> str:
        return f"NamedSharding(mesh={self.mesh!r}, spec={self.spec!r})"


@dataclasses.dataclass(frozen=True)
class Shard:
    """The part of an array on one device."""

    device: Device
    index: tuple[slice, ...]
    replica_id: int
    data: Any


def check_sharding(value: Any, shape: Sequence[int] | None, where: str) -> Sharding | None:
    """Converts a device, sharding, format or spec to a sharding; None for None.

    Raises:
      TypeError: for anything else.
      ValueError: for a spec without a current mesh, a spec with more entries than ``shape`` has
        dimensions, and a format that is not row-major.
    """
    if isinstance(value, Format):
        value.check_layout(where)
        value = value.sharding
    if value is None:
        return None
    if isinstance(value, PartitionSpec):
        if get_mesh().empty:
            raise ValueError(
                f"{where}: {value} needs a mesh; use it inside set_mesh(mesh), or pass "
                "NamedSharding(mesh, spec)"
            )
        value = NamedSharding(get_mesh(), value)
    if isinstance(value, Device):
        value = SingleDeviceSharding(value)
    if not isinstance(value, Sharding):
        raise TypeError(
            f"{where}: expected a Device, a Sharding, a PartitionSpec or None, got {value!r}"
        )
    if shape is not None:
        value.check_rank(shape, where)
    return value


def declared_sharding(value: Any, shape: Sequence[int]) -> Sharding | PartitionSpec | None:
    """Checks the sharding of a ShapeDtypeStruct; a PartitionSpec needs no mesh yet."""
    where = "ShapeDtypeStruct: sharding"
    if isinstance(value, PartitionSpec) and get_mesh().empty:
        if len(value) > len(shape):
            raise ValueError(
                f"{where}: {value} has {len(value)} entries, but the shape {tuple(shape)} has rank "
                f"{len(shape)}"
            )
        return value
    sharding = check_sharding(value, shape, where)
    return value if isinstance(value, PartitionSpec) else sharding


def needed_sharding(value: Any, shape: Sequence[int] | None, where: str) -> Sharding:
    """``check_sharding`` of an argument that must not be None."""
    if value is None:
        raise TypeError(
            f"{where}: sharding must be a Device, a Sharding or a PartitionSpec, got None"
        )
    return cast(Sharding, check_sharding(value, shape, where))


def the_device(sharding: Sharding, where: str) -> Device:
    """The device of a single-device sharding.

    Raises:
      ValueError: if there are several devices.
    """
    if isinstance(sharding, NamedSharding) and isinstance(sharding.mesh, AbstractMesh):
        return local_devices()[0]
    found = sorted(sharding.device_set, key=lambda device: device.id)
    if len(found) != 1:
        raise ValueError(f"{where}: {sharding!r} has {len(found)} devices; it must have one")
    return found[0]


def is_spread(sharding: Sharding | Format) -> bool:
    """Whether the sharding covers several devices."""
    if isinstance(sharding, Format):
        sharding = sharding.sharding
    if not isinstance(sharding, NamedSharding):
        return False
    return isinstance(sharding.mesh, Mesh) and sharding.mesh.size > 1


def core_sharding(sharding: Sharding) -> Any:
    """The sharding as one over a mesh, in the core's form; None for a mesh without devices."""
    if not isinstance(sharding, NamedSharding):
        return (), (the_device(sharding, "sharding"),), ()
    return None if isinstance(sharding.mesh, AbstractMesh) else sharding.in_core()


def in_core(sharding: Sharding) -> Any:
    """The sharding in the core's form: a tuple, or a Device; None for a mesh without devices."""
    if isinstance(sharding, NamedSharding):
        if isinstance(sharding.mesh, AbstractMesh):
            return None
        if is_spread(sharding):
            return sharding.in_core()
    return the_device(sharding, "sharding")


@functools.lru_cache(maxsize=1024)
def from_core(sharding: Any) -> NamedSharding:
    """Converts a sharding of the core."""
    axes, devices, entries = sharding
    grid = np.empty(len(devices), dtype=object)
    grid[:] = devices
    names, sizes, types = zip(*axes, strict=True)
    mesh = Mesh(grid.reshape(sizes), names, tuple(map(AxisType, types)))
    return NamedSharding(mesh, PartitionSpec(*entries))
