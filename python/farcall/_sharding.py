"""Meshes, partition specs and shardings."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import math
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from farcall import _core
from farcall._devices import Device, devices, is_local, local_devices


class AxisType(enum.Enum):
    """Who decides how arrays are split over an axis of a mesh."""

    Auto = 0
    Explicit = 1
    Manual = 2

    def __repr__(self) -> str:
        return self.name


class PartitionSpec:
    """For each dimension of an array the mesh axis, or axes, that it is split over, or None.

    Args:
      *partitions: an axis name, a tuple of axis names, or None, for each of the first dimensions;
        the others are not split.
      unreduced, reduced: axes over which sums are still to be made, or were made.

    Raises:
      TypeError: for an entry of another type.
      ValueError: for an axis that is named twice.
    """

    class _Unconstrained:
        def __repr__(self) -> str:
            return "UNCONSTRAINED"

    UNCONSTRAINED = _Unconstrained()

    __slots__ = ("_partitions", "reduced", "unreduced")

    def __init__(
        self, *partitions: Any, unreduced: Any = frozenset(), reduced: Any = frozenset()
    ) -> None:
        self._partitions = tuple(map(_checked_entry, partitions))
        self.unreduced, self.reduced = frozenset(unreduced), frozenset(reduced)
        names = [name for entry in self._partitions for name in axes_of(entry)]
        twice = sorted({str(name) for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"PartitionSpec: {self!r} names axis {twice[0]!r} twice")

    @property
    def partitions(self) -> tuple[Any, ...]:
        """The entries."""
        return self._partitions

    def update(self, **options: Any) -> PartitionSpec:
        """The spec with other ``partitions``, ``unreduced`` or ``reduced``."""
        partitions = options.pop("partitions", self._partitions)
        known = {"unreduced": self.unreduced, "reduced": self.reduced}
        return PartitionSpec(*partitions, **{**known, **options})

    def index(self, value: Any) -> int:
        """The first dimension with this entry; ValueError where there is none."""
        return self._partitions.index(_checked_entry(value))

    def count(self, value: Any) -> int:
        """The number of dimensions with this entry."""
        return self._partitions.count(_checked_entry(value))

    def __len__(self) -> int:
        return len(self._partitions)

    def __getitem__(self, key: Any) -> Any:
        return self._partitions[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._partitions)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> Any:
        return (self._partitions, self.unreduced, self.reduced)

    def __reduce__(self) -> Any:
        return _make_spec, self._key()

    def __repr__(self) -> str:
        parts = [repr(entry) for entry in self._partitions]
        for name, axes in (("unreduced", self.unreduced), ("reduced", self.reduced)):
            if axes:
                parts.append(f"{name}={{{', '.join(map(repr, sorted(axes)))}}}")
        return f"P({parts[0]},)" if len(parts) == 1 else f"P({', '.join(parts)})"


P = PartitionSpec


def _make_spec(partitions: Any, unreduced: Any, reduced: Any) -> PartitionSpec:
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced)


def _checked_entry(entry: Any) -> Any:
    if entry is None or entry is PartitionSpec.UNCONSTRAINED or isinstance(entry, str):
        return entry
    if isinstance(entry, (tuple, list)) and all(isinstance(name, str) for name in entry):
        return None if not entry else entry[0] if len(entry) == 1 else tuple(entry)
    raise TypeError(
        "PartitionSpec: each entry must be an axis name, a tuple of axis names, or None; got "
        f"{entry!r}"
    )


def axes_of(entry: Any) -> tuple[str, ...]:
    """The axis names of one entry of a spec."""
    if entry is None or entry is PartitionSpec.UNCONSTRAINED:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)


# ---- meshes --------------------------------------------------------------------------------------


class _AnyMesh:
    """What meshes of devices and abstract ones have in common."""

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
        """Whether there is no axis."""
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
    """Devices in a grid whose dimensions have names. In a with statement, the mesh of its body.

    Args:
      devices: an array of devices, of one dimension for each axis.
      axis_names: the names.
      axis_types: an AxisType for each axis; Auto by default.

    Raises:
      ValueError: for another number of names or types than dimensions.
    """

    def __init__(self, devices: Any, axis_names: Any, axis_types: Any = None) -> None:
        if not isinstance(devices, np.ndarray):
            devices = np.array(devices, dtype=object)
        self.devices: np.ndarray[Any, np.dtype[Any]] = devices.copy()
        self.devices.flags.writeable = False
        self._set_axes(devices.shape, axis_names, axis_types, "Mesh")

    @property
    def device_ids(self) -> np.ndarray[Any, np.dtype[Any]]:
        """The number of each device."""
        return np.vectorize(lambda device: device.id, otypes=[int])(self.devices)

    @property
    def local_devices(self) -> list[Device]:
        """The devices of this process."""
        return list(filter(is_local, self.devices.flat))

    @property
    def local_mesh(self) -> Mesh:
        """The part of the mesh whose devices belong to this process.

        Raises:
          ValueError: where they are no smaller grid.
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
            raise ValueError("local_mesh: the devices of this process are no grid in the mesh")
        return Mesh(local, self.axis_names, self.axis_types)

    @property
    def is_multi_process(self) -> bool:
        """Whether devices belong to other processes."""
        return not all(map(is_local, self.devices.flat))

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The axes alone."""
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
    """The mesh that ``set_mesh`` or a with statement made current; an empty one without."""
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
    """A mesh of these sizes over the devices.

    Args:
      axis_shapes: the size of each axis.
      axis_names: the names of the axes.
      axis_types: an AxisType for each axis; Explicit by default.
      devices: the devices, of which the mesh takes as many as it needs; all by default.

    Raises:
      ValueError: for sizes that need more devices than there are.
    """
    found = list(_all_devices() if devices is None else devices)
    sizes = _core.to_sizes(axis_shapes, "make_mesh: axis_shapes")
    wanted = math.prod(sizes)
    if wanted > len(found):
        raise ValueError(
            f"make_mesh: axis_shapes {sizes} needs {wanted} devices, and there "
            f"{'is' if len(found) == 1 else 'are'} {len(found)}; the flag num_cpu_devices "
            "divides the host into more"
        )
    grid = np.empty(wanted, dtype=object)
    grid[:] = found[:wanted]
    if axis_types is None:
        axis_types = (AxisType.Explicit,) * len(axis_names)
    return Mesh(grid.reshape(sizes), axis_names, axis_types)


def _all_devices() -> list[Device]:
    return devices()


# ---- shardings -----------------------------------------------------------------------------------


class Sharding:
    """How the elements of an array are spread over devices."""

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
        """Whether every device has all elements."""
        return True

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices belong to this process."""
        return all(map(is_local, self.device_set))

    @property
    def has_addressable_devices(self) -> bool:
        """Whether a device belongs to this process."""
        return any(map(is_local, self.device_set))

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of what a device has of an array of this shape.

        Raises:
          ValueError: for a shape that cannot be split so.
        """
        return tuple(global_shape)

    def devices_indices_map(self, global_shape: Sequence[int]) -> Mapping[Device, Any]:
        """For each device the slices that it has of an array of this shape.

        Raises:
          ValueError: for a shape that cannot be split so.
        """
        whole = tuple(slice(None) for _ in global_shape)
        return dict.fromkeys(self.device_set, whole)

    def addressable_devices_indices_map(self, global_shape: Sequence[int]) -> Mapping[Device, Any]:
        """The same, for the devices of this process."""
        of_all = self.devices_indices_map(global_shape)
        return {device: index for device, index in of_all.items() if is_local(device)}

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Whether both place an array of this rank in the same way."""
        if not isinstance(other, Sharding) or self.device_set != other.device_set:
            return False
        shape = (self.num_devices,) * ndim  # which every axis divides
        mine, others = (each.devices_indices_map(shape) for each in (self, other))
        return all(
            _bounds(mine[device], shape) == _bounds(others[device], shape) for device in mine
        )

    def check_rank(self, shape: Sequence[int], where: str) -> None:
        """Raises ValueError where an array of this shape cannot be placed so."""

    def with_memory_kind(self, kind: str) -> Sharding:
        """The same sharding in another memory; there is one, named ``device``."""
        if kind != "device":
            raise ValueError(f"with_memory_kind: there is no memory {kind!r}; there is 'device'")
        return self


def _bounds(index: tuple[slice, ...], shape: Sequence[int]) -> list[tuple[int, int, int]]:
    return [part.indices(size) for part, size in zip(index, shape, strict=True)]


@dataclasses.dataclass(frozen=True)
class SingleDeviceSharding(Sharding):
    """Everything on one device."""

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
      spec: which axes split each dimension.

    Raises:
      ValueError: for an axis that the mesh does not have.
    """

    def __init__(
        self, mesh: Mesh | AbstractMesh, spec: PartitionSpec, *, memory_kind: str | None = None
    ) -> None:
        if not isinstance(mesh, _AnyMesh):
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
        """Whether every device has all elements."""
        sizes = self.mesh.shape
        return all(sizes[name] == 1 for entry in self.spec for name in axes_of(entry))

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of what a device has of an array of this shape.

        Raises:
          ValueError: for fewer dimensions than the spec has entries, and for a dimension that is
            no multiple of the number of its parts.
        """
        return self._cut(global_shape, "shard_shape")[0]

    def devices_indices_map(self, global_shape: Sequence[int]) -> Mapping[Device, Any]:
        """For each device the slices that it has of an array of this shape.

        Raises:
          ValueError: as ``shard_shape`` does, and for a mesh without devices.
        """
        if not isinstance(self.mesh, Mesh):
            raise ValueError("devices_indices_map: the mesh is abstract: it has no devices")
        return dict(
            zip(self.mesh.devices.flat, (i for i, _ in self.shards(global_shape)), strict=True)
        )

    def shards(self, global_shape: Sequence[int]) -> list[tuple[tuple[slice, ...], int]]:
        """For each device, in the order of the mesh, its slices, and which replica they are."""
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
        """The axes of the mesh, as the core takes them."""
        types = (kind.value for kind in self.mesh.axis_types)
        return tuple(zip(self.mesh.axis_names, self.mesh.axis_sizes, types, strict=True))

    def entries(self) -> Any:
        """The spec, as the core takes it."""
        return tuple(map(axes_of, self.spec))

    def in_core(self) -> Any:
        """The sharding, as the core takes it."""
        devices = tuple(self.mesh.devices.flat) if isinstance(self.mesh, Mesh) else ()
        return self.axes(), devices, self.entries()

    def check_rank(self, shape: Sequence[int], where: str) -> None:
        """Raises ValueError where an array of this shape cannot be split so."""
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
    """What one device has of an array."""

    device: Device
    index: tuple[slice, ...]
    replica_id: int
    data: Any


def check_sharding(value: Any, shape: Sequence[int] | None, where: str) -> Sharding | None:
    """A device, sharding or spec as a sharding; None for None.

    Raises:
      TypeError: for anything else.
      ValueError: for a spec without a current mesh, and a spec of more entries than ``shape`` has
        dimensions.
    """
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


def the_device(sharding: Sharding, where: str) -> Device:
    """The one device of a sharding.

    Raises:
      ValueError: for several devices.
    """
    if isinstance(sharding, NamedSharding) and isinstance(sharding.mesh, AbstractMesh):
        return local_devices()[0]
    found = sorted(sharding.device_set, key=lambda device: device.id)
    if len(found) != 1:
        raise ValueError(f"{where}: {sharding!r} names {len(found)} devices, and this takes one")
    return found[0]


def is_spread(sharding: Sharding) -> bool:
    """Whether it names several devices."""
    return isinstance(sharding, NamedSharding) and len(sharding.device_set) > 1


@functools.lru_cache(maxsize=1024)
def from_core(sharding: Any) -> NamedSharding:
    """A sharding as the core gives it."""
    axes, devices, entries = sharding
    grid = np.empty(len(devices), dtype=object)
    grid[:] = devices
    names, sizes, types = zip(*axes, strict=True)
    mesh = Mesh(grid.reshape(sizes), names, tuple(map(AxisType, types)))
    return NamedSharding(mesh, PartitionSpec(*entries))
