"""Placement of arrays: device_put, arrays from parts, placement attributes of Array."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Sequence
from typing import Any, cast

from farcall import _core, tree
from farcall._devices import Device, is_local
from farcall._layout import Format, row_major
from farcall._mesh import AbstractMesh, Mesh
from farcall._partition_spec import PartitionSpec
from farcall._sharding import (
    NamedSharding,
    Shard,
    Sharding,
    SingleDeviceSharding,
    check_sharding,
    core_sharding,
    from_core,
    is_spread,
    needed_sharding,
    the_device,
)

Array = _core.Array

# Single-device shardings given to arrays, by the ``id`` of the array; an entry lives as long as its
# array. Arrays over several devices store their sharding themselves.
_given: dict[int, tuple[weakref.ref[Any], Sharding]] = {}


def place(array: Array, sharding: Sharding | None) -> Array:
    """An array with the same elements and this sharding; for a traced array, a constraint."""
    if sharding is None:
        return array
    if array.is_traced:
        over = core_sharding(sharding)
        return array if over is None else _core.sharding.with_sharding_constraint(array, over)
    if isinstance(sharding, NamedSharding) and is_spread(sharding):
        return _core.sharding.device_put(array, sharding.in_core())
    if array.committed and sharding == sharding_of(array):
        return array
    made = _core.devices.device_put(array, the_device(sharding, "device_put"))
    key = id(made)
    _given[key] = (weakref.ref(made, lambda _: _given.pop(key, None)), sharding)
    return made


def sharding_of(array: Array) -> Sharding:
    """The sharding given to the array, else that of its device."""
    found = _given.get(id(array))
    if found is not None:
        return found[1]
    spread_so = _core.sharding.sharding_of(array)
    if spread_so is not None:
        return from_core(spread_so)
    return SingleDeviceSharding(_core.devices.device_of(array))


def spread(prefix: Any, values: Any, where: str) -> list[Any]:
    """For each leaf of ``values`` the entry (a sharding, device, spec, number or None) of a tree
    prefix; raises ValueError if it is not a tree prefix."""
    entries, structure = tree.flatten(prefix, _is_entry)
    try:
        parts = structure.flatten_up_to(values)
    except ValueError as error:
        raise ValueError(
            f"{where}: it must be a tree prefix of what it describes: {error}"
        ) from None
    return [entry for entry, part in zip(entries, parts, strict=True) for _ in tree.leaves(part)]


def check_shardings(shardings: Any, values: Any, where: str) -> None:
    """Raises an error if shardings, a tree prefix of ``values``, do not match the values."""
    for leaf, sharding in zip(tree.leaves(values), spread(shardings, values, where), strict=True):
        check_sharding(sharding, getattr(leaf, "shape", None), where)


def _is_entry(node: Any) -> bool:
    return node is None or isinstance(node, (Device, Sharding, Format, PartitionSpec))


def device_put(
    x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None
) -> Any:
    """Puts the leaves of ``x`` (arrays, numbers, numpy arrays) on a device.

    Args:
      x: a pytree.
      device: a Device, a Sharding, a Format, a PartitionSpec of the current mesh, None, or a tree
        prefix of ``x`` of these. An array put on an explicit device is committed: its programs run
        there. With None an Array stays where it is, and other data is put on the default device
        without being committed.
      src, donate, may_alias: accepted for compatibility with JAX; ignored.

    Raises:
      TypeError: for a leaf that is not an array.
      ValueError: for a spec with more entries than the array has dimensions, and for a dimension
        that is not divisible by the number of its parts.
    """
    del src, donate, may_alias
    leaves, structure = tree.flatten(x)
    wanted = spread(device, x, "device_put: device")
    return structure.unflatten(
        [_put(leaf, where) for leaf, where in zip(leaves, wanted, strict=True)]
    )


def _put(leaf: Any, device: Any) -> Array:
    array = _core.as_array(leaf)
    if device is None:
        return array if isinstance(leaf, Array) else _core.devices.on_default_device(array)
    if array.is_traced and isinstance(device, Device):
        return array  # as in JAX: only a Sharding says where a program runs
    return place(array, check_sharding(device, array.shape, "device_put"))


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """Constrains the sharding of the arrays of ``x``.

    Values do not change. Inside ``jit``, a program on arrays over the same mesh axes uses the
    constraint to split computations that depend on ``x``; other programs ignore it.

    Args:
      x: a pytree of arrays.
      shardings: a Sharding, a PartitionSpec of the current mesh, or a tree prefix of ``x``.

    Raises:
      ValueError: for a spec without a current mesh, and for a spec with more entries than the array
        has dimensions.
    """
    leaves, structure = tree.flatten(x)
    wanted = spread(shardings, x, "with_sharding_constraint: shardings")
    made = []
    for leaf, where in zip(leaves, wanted, strict=True):
        array = _core.as_array(leaf)
        made.append(place(array, check_sharding(where, array.shape, "with_sharding_constraint")))
    return structure.unflatten(made)


def reshard(xs: Any, out_shardings: Any) -> Any:
    """Moves ``xs`` to these shardings; see device_put."""
    return with_sharding_constraint(xs, out_shardings)


def copy_to_host_async(x: Any) -> Any:
    """Returns ``x``. For JAX compatibility: values are copied to the host when they are read."""
    return x


# ---- arrays made from parts ----------------------------------------------------------------------


def make_array_from_callback(
    shape: Sequence[int], sharding: Any, data_callback: Callable[[Any], Any], dtype: Any = None
) -> Array:
    """Makes an array in which each device holds ``data_callback(index)``.

    Args:
      shape: the shape of the array.
      sharding: a Sharding.
      data_callback: takes the slices of the array that a device holds, and returns their elements.
        It is called once for all devices with equal slices. With several processes, each process
        calls it for its own devices.
      dtype: the dtype of the elements, to check it.

    Raises:
      ValueError: if the elements do not have the shape of the slices or the dtype, and if the
        sharding does not match the shape.
    """
    where = "make_array_from_callback"
    sharding = needed_sharding(sharding, shape, where)
    parts: dict[str, Any] = {}
    arrays = []
    for device, index in sharding.addressable_devices_indices_map(tuple(shape)).items():
        if str(index) not in parts:
            what = f"{where}: the result of data_callback"
            parts[str(index)] = _core.numpy.as_array(data_callback(index), what)
        arrays.append(_core.devices.device_put(parts[str(index)], device))
    return _from_parts(shape, sharding, arrays, dtype, where)


def make_array_from_single_device_arrays(
    shape: Sequence[int], sharding: Any, arrays: Sequence[Any], *, dtype: Any = None
) -> Array:
    """Makes an array from its parts, one on each device of the sharding, in any order.

    With several processes, each passes the parts of its own devices.

    Raises:
      ValueError: for a wrong number of parts, parts on other devices, and parts with a wrong shape
        or another dtype than ``dtype``.
    """
    where = "make_array_from_single_device_arrays"
    sharding = needed_sharding(sharding, shape, where)
    devices = list(sharding.addressable_devices_indices_map(tuple(shape)))
    if isinstance(arrays, Array) or len(arrays) != len(devices):
        given = "an Array" if isinstance(arrays, Array) else f"{len(arrays)} arrays"
        raise ValueError(
            f"{where}: arrays must be a sequence of {len(devices)} arrays, one for each device of "
            f"the sharding that belongs to this process; got {given}"
        )
    parts = [_core.as_array(part) for part in arrays]
    by_device = {_core.devices.device_of(part): part for part in parts}
    if len(devices) > 1:
        if set(by_device) != set(devices):
            raise ValueError(
                f"{where}: the arrays lie on {[*by_device]}, and the sharding is over {devices}"
            )
        parts = [by_device[device] for device in devices]
    return _from_parts(shape, sharding, parts, dtype, where)


def _from_parts(
    shape: Sequence[int], sharding: Sharding, parts: list[Array], dtype: Any, where: str
) -> Array:
    wanted = sharding.shard_shape(tuple(shape))
    for part in parts:
        if part.shape != wanted:
            raise ValueError(
                f"{where}: the part of a device must have the shape {wanted}, got {part.shape}"
            )
    names = sorted({str(part.dtype) for part in parts})
    if len(names) > 1:
        raise ValueError(f"{where}: the parts must have one dtype, got {', '.join(names)}")
    if (
        dtype is not None
        and parts
        and parts[0].dtype != (wanted_dtype := _core._check_dtype(dtype))
    ):
        raise ValueError(
            f"{where}: dtype is {wanted_dtype}, but the parts are {names[0]}; convert them, or "
            "leave dtype out"
        )
    if isinstance(sharding, NamedSharding) and is_spread(sharding):
        return _core.sharding.array_from_shards(list(shape), sharding.in_core(), parts)
    return place(parts[0], sharding)


def make_array_from_process_local_data(
    sharding: Any, local_data: Any, global_shape: Sequence[int] | None = None
) -> Array:
    """Makes an array from the data of all processes; each passes the data of its own devices.

    Args:
      sharding: a Sharding.
      local_data: in each dimension, the elements from the first to the last one that a device of
        this process holds; or all elements, if it has the global size.
      global_shape: the shape of the array; by default each local size times the number of processes
        that the sharding splits the dimension over.

    Raises:
      ValueError: for data of a wrong shape.
    """
    where = "make_array_from_process_local_data"
    data = _core.as_array(local_data)
    sharding = needed_sharding(sharding, None, where)
    # A virtual shape that every sharding over these devices divides evenly.
    parts = (sharding.num_devices,) * data.ndim
    box = box_of(sharding, parts)
    if global_shape is None:
        global_shape = tuple(
            size * count // (stop - start)
            for size, count, (start, stop) in zip(data.shape, parts, box, strict=True)
        )
    shape = tuple(global_shape)
    sharding.check_rank(shape, where)
    if len(shape) == data.ndim:
        box = box_of(sharding, shape)
        starts = [
            0 if size == whole else start
            for size, whole, (start, _) in zip(data.shape, shape, box, strict=True)
        ]
        sizes = zip(data.shape, shape, box, strict=True)
        if all(size in (whole, stop - start) for size, whole, (start, stop) in sizes):
            return make_array_from_callback(
                shape,
                sharding,
                lambda index: data[
                    tuple(
                        slice(part.indices(size)[0] - start, part.indices(size)[1] - start)
                        for part, size, start in zip(index, shape, starts, strict=True)
                    )
                ],
            )
    raise ValueError(
        f"{where}: of an array of the shape {shape} the data of process "
        f"{_core.distributed.process_index()} must have the shape "
        f"{tuple(stop - start for start, stop in box_of(sharding, shape))}, got {data.shape}"
    )


def box_of(sharding: Sharding, shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """For each dimension, the range [begin, end) of elements that this process holds."""
    own = sharding.addressable_devices_indices_map(shape).values()
    boxes = []
    for dimension, size in enumerate(shape):
        bounds = [index[dimension].indices(size)[:2] for index in own]
        boxes.append((min(start for start, _ in bounds), max(stop for _, stop in bounds)))
    return boxes


# ---- attributes of Array -------------------------------------------------------------------------


def _install() -> None:
    def devices(self: Array) -> set[Device]:
        """The devices that hold elements of this array."""
        return sharding_of(self).device_set

    def addressable_shards(self: Array) -> list[Shard]:
        """The shards of this array on the devices of this process."""
        return [shard for shard in global_shards(self) if shard.data is not None]

    def global_shards(self: Array) -> list[Shard]:
        """The shards of this array on all devices; those of other processes have no data."""
        sharding = sharding_of(self)
        if isinstance(sharding, NamedSharding) and is_spread(sharding):
            own = iter(_core.sharding.shards_of(self))
            rows = zip(
                cast(Mesh, sharding.mesh).devices.flat, sharding.shards(self.shape), strict=True
            )
            return [
                Shard(device, *part, next(own) if is_local(device) else None)
                for device, part in rows
            ]
        index = tuple(slice(None) for _ in self.shape)
        return [Shard(_core.devices.device_of(self), index, 0, self)]

    def addressable_data(self: Array, index: int) -> Array:
        """The elements on a device, given by its index among this process's devices of the mesh."""
        shards = addressable_shards(self)
        try:
            number = operator.index(index)
        except TypeError:
            raise TypeError(
                f"addressable_data: index must be an integer, got {index!r} of type "
                f"{type(index).__name__}"
            ) from None
        if not -len(shards) <= number < len(shards):
            raise IndexError(
                f"addressable_data: index {number} is out of range for an array on "
                f"{len(shards)} of this process's devices"
            )
        return shards[number].data

    def delete(self: Array) -> None:
        """Frees the memory. Using the values afterwards raises RuntimeError."""
        _core.nn.delete_array(self)

    def copy_to_host(self: Array) -> None:
        """Does nothing: values are copied to the host when they are read."""

    def to_device(self: Array, device: Any, *, stream: Any = None) -> Array:
        """Copies this array to a device."""
        del stream
        return device_put(self, device)

    def on_device_size_in_bytes(self: Array) -> int:
        """The size of the elements in bytes."""
        return self.nbytes

    def device(self: Array) -> Device | Sharding:
        sharding = sharding_of(self)
        return sharding if is_spread(sharding) else _core.devices.device_of(self)

    methods = {
        "devices": devices,
        "addressable_data": addressable_data,
        "delete": delete,
        "copy_to_host_async": copy_to_host,
        "to_device": to_device,
        "on_device_size_in_bytes": on_device_size_in_bytes,
    }
    for name, method in methods.items():
        method.__name__ = name
        setattr(Array, name, method)
    properties = {
        "device": property(
            device, doc="The device that holds this array; its sharding where several do."
        ),
        "platform": property(
            lambda self: _core.devices.device_of(self).platform, doc="The device's platform."
        ),
        "sharding": property(sharding_of, doc="How the elements are spread over devices."),
        "format": property(
            lambda self: row_major(self.ndim, sharding_of(self)),
            doc="The layout, which is row-major, and the sharding.",
        ),
        "addressable_shards": property(addressable_shards),
        "global_shards": property(global_shards),
        "is_fully_addressable": property(
            lambda self: self.is_traced or sharding_of(self).is_fully_addressable,
            doc="Whether this process has it all.",
        ),
        "is_fully_replicated": property(
            lambda self: sharding_of(self).is_fully_replicated,
            doc="Whether each device has it all.",
        ),
        "committed": property(
            lambda self: id(self) in _given or _core.devices.is_committed(self),
            doc="Whether it was put on its device by name, or computed from one that was.",
        ),
    }
    for name, made in properties.items():
        setattr(Array, name, made)


_install()


def sharding_in_type(rank: int) -> NamedSharding:
    """The sharding in the type of an array without an explicit mesh."""
    return NamedSharding(AbstractMesh((), ()), PartitionSpec(*(None,) * rank))
