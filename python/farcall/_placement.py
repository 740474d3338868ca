"""Where arrays lie: device_put, arrays made from parts, and the attributes of Array that tell."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from farcall import _core, tree
from farcall._devices import Device
from farcall._sharding import (
    AbstractMesh,
    NamedSharding,
    PartitionSpec,
    Shard,
    Sharding,
    SingleDeviceSharding,
    check_sharding,
    the_device,
)

Array = _core.Array

# Shardings that arrays were given, by the identity of the array; an entry goes with its array.
_given: dict[int, tuple[weakref.ref[Any], Sharding]] = {}


def place(array: Array, sharding: Sharding | None) -> Array:
    """An array of the same elements that has this sharding, on its device."""
    if sharding is None or array.is_traced:
        return array
    if array.committed and sharding == sharding_of(array):
        return array
    made = _core.devices.device_put(array, the_device(sharding, "device_put"))
    key = id(made)
    _given[key] = (weakref.ref(made, lambda _: _given.pop(key, None)), sharding)
    return made


def sharding_of(array: Array) -> Sharding:
    """The sharding that the array was given, else its device's."""
    found = _given.get(id(array))
    return SingleDeviceSharding(_core.devices.device_of(array)) if found is None else found[1]


def spread(shardings: Any, values: Any, where: str) -> list[Any]:
    """One sharding, device or spec for each leaf of ``values``, of which it is a tree prefix."""
    if shardings is None or isinstance(shardings, (Device, Sharding, PartitionSpec)):
        return [shardings] * len(tree.leaves(values))
    return tree.leaves(broadcast_prefix(shardings, values, where), _is_entry)


def check_shardings(shardings: Any, values: Any, where: str) -> None:
    """Raises where shardings, a tree prefix of ``values``, do not fit them."""
    for leaf, sharding in zip(tree.leaves(values), spread(shardings, values, where), strict=True):
        check_sharding(sharding, getattr(leaf, "shape", None), where)


def broadcast_prefix(prefix: Any, values: Any, where: str) -> Any:
    """The prefix with an entry for each leaf; ValueError where it is no prefix of ``values``."""
    try:
        return tree.broadcast(prefix, values, is_leaf=_is_entry)
    except ValueError as error:
        raise ValueError(
            f"{where}: it must be a tree prefix of what it describes: {error}"
        ) from None


def _is_entry(node: Any) -> bool:
    return node is None or isinstance(node, (Device, Sharding, PartitionSpec))


def device_put(
    x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None
) -> Any:
    """``x`` with arrays, numbers and numpy arrays at its leaves made arrays of the device.

    Args:
      x: a pytree.
      device: a Device, a Sharding, a PartitionSpec of the current mesh, None, or a tree prefix of
        ``x`` of these. Programs of arrays that are put on a device by name run there; without a
        name an array lies on the default device, and its programs may run elsewhere.
      src, donate, may_alias: for programs written for JAX; without effect.

    Raises:
      TypeError: for a leaf that is no array.
      ValueError: for a sharding over several devices, and for a spec of more entries than the array
        has dimensions.
    """
    del src, donate, may_alias
    leaves, structure = tree.flatten(x)
    wanted = spread(device, x, "device_put: device")
    return structure.unflatten(
        [_put(leaf, where) for leaf, where in zip(leaves, wanted, strict=True)]
    )


def _put(leaf: Any, device: Any) -> Array:
    array = _core.as_array(leaf)
    return place(array, check_sharding(device, array.shape, "device_put"))


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """``x``, of which each array has to lie so; on one device every one does.

    Args:
      x: a pytree of arrays.
      shardings: a Sharding, a PartitionSpec of the current mesh, or a tree prefix of ``x``.

    Raises:
      ValueError: for a spec without a mesh, or of more entries than the array has dimensions.
    """
    leaves, structure = tree.flatten(x)
    wanted = spread(shardings, x, "with_sharding_constraint: shardings")
    made = []
    for leaf, where in zip(leaves, wanted, strict=True):
        array = _core.as_array(leaf)
        made.append(place(array, check_sharding(where, array.shape, "with_sharding_constraint")))
    return structure.unflatten(made)


def reshard(xs: Any, out_shardings: Any) -> Any:
    """``xs`` with these shardings; see device_put."""
    return with_sharding_constraint(xs, out_shardings)


def copy_to_host_async(x: Any) -> Any:
    """``x``. For programs written for JAX: values are copied to the host where they are read."""
    return x


# ---- arrays made from parts ----------------------------------------------------------------------


def _made(value: Any, shape: Sequence[int], sharding: Any, dtype: Any, where: str) -> Array:
    array = _core.as_array(value)
    if array.shape != tuple(shape):
        raise ValueError(
            f"{where}: the part of the one device must have the shape {tuple(shape)}, got "
            f"{array.shape}"
        )
    if dtype is not None and np.dtype(dtype) != array.dtype:
        array = _core.numpy.astype(array, dtype)
    return place(array, check_sharding(sharding, shape, where))


def make_array_from_callback(
    shape: Sequence[int], sharding: Any, data_callback: Callable[[Any], Any], dtype: Any = None
) -> Array:
    """The array of which each device has ``data_callback(index)``; here that is all of it.

    Args:
      shape: of the array.
      sharding: a Sharding.
      data_callback: is given the slices of the array that are wanted, returns the elements.
      dtype: of the array; that of the elements by default.

    Raises:
      ValueError: when the elements have another shape than the slices.
    """
    index = tuple(slice(0, size) for size in shape)
    value = data_callback(index)
    return _made(value, shape, sharding, dtype, "make_array_from_callback")


def make_array_from_single_device_arrays(
    shape: Sequence[int], sharding: Any, arrays: Sequence[Any], *, dtype: Any = None
) -> Array:
    """The array whose parts are these, one for each device: here one.

    Raises:
      ValueError: for another number of parts than devices, and a part of another shape.
    """
    where = "make_array_from_single_device_arrays"
    if isinstance(arrays, Array) or len(arrays) != 1:
        raise ValueError(f"{where}: arrays must be a sequence with one array for the one device")
    return _made(arrays[0], shape, sharding, dtype, where)


def make_array_from_process_local_data(
    sharding: Any, local_data: Any, global_shape: Sequence[int] | None = None
) -> Array:
    """The array of the data of all processes: here of the one."""
    data = _core.as_array(local_data)
    shape = data.shape if global_shape is None else global_shape
    return _made(data, shape, sharding, None, "make_array_from_process_local_data")


# ---- attributes of Array -------------------------------------------------------------------------


def _install() -> None:
    def devices(self: Array) -> set[Device]:
        """The devices that hold elements of this array."""
        return sharding_of(self).device_set

    def addressable_shards(self: Array) -> list[Shard]:
        """What each device has of this array: here one shard, which is all of it."""
        index = tuple(slice(None) for _ in self.shape)
        return [Shard(_core.devices.device_of(self), index, 0, self)]

    def addressable_data(self: Array, index: int) -> Array:
        """The elements that device ``index`` has."""
        return addressable_shards(self)[index].data

    def delete(self: Array) -> None:
        """Gives the memory up; every use of the values raises RuntimeError from now on."""
        _core.nn.delete_array(self)

    def copy_to_host(self: Array) -> None:
        """Does nothing: values are copied to the host where they are read."""

    def to_device(self: Array, device: Any, *, stream: Any = None) -> Array:
        """This array on a device."""
        del stream
        return device_put(self, device)

    def on_device_size_in_bytes(self: Array) -> int:
        """The bytes of the elements."""
        return self.nbytes

    def is_ready(self: Array) -> bool:
        """Whether the values are there, so that reading them does not wait."""
        return _core.devices.is_ready(self)

    methods = {
        "devices": devices,
        "addressable_data": addressable_data,
        "delete": delete,
        "copy_to_host_async": copy_to_host,
        "to_device": to_device,
        "on_device_size_in_bytes": on_device_size_in_bytes,
        "is_ready": is_ready,
    }
    for name, method in methods.items():
        method.__name__ = name
        setattr(Array, name, method)
    shards = property(addressable_shards)
    properties = {
        "device": property(_core.devices.device_of, doc="The device that holds this array."),
        "platform": property(
            lambda self: _core.devices.device_of(self).platform, doc="The device's platform."
        ),
        "sharding": property(sharding_of, doc="How the elements are spread over devices."),
        "addressable_shards": shards,
        "global_shards": shards,
        "is_fully_addressable": property(lambda self: True, doc="Whether one process has it all."),
        "is_fully_replicated": property(lambda self: True, doc="Whether each device has it all."),
        "committed": property(
            lambda self: id(self) in _given or _core.devices.is_committed(self),
            doc="Whether it was put on its device by name, or computed from one that was.",
        ),
    }
    for name, made in properties.items():
        setattr(Array, name, made)


_install()


def sharding_in_type(rank: int) -> NamedSharding:
    """What the type of an array without an explicit mesh says of its sharding."""
    return NamedSharding(AbstractMesh((), ()), PartitionSpec(*(None,) * rank))
