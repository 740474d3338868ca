"""Exchange of values between the processes of a program."""

from __future__ import annotations

from typing import Any

import numpy as np

from farcall import _core, tree
from farcall._placement import (
    box_of,
    device_put,
    make_array_from_process_local_data,
    spread,
)
from farcall._public import show_names_of as _show_names_of
from farcall._sharding import NamedSharding, needed_sharding

__all__ = [
    "assert_equal",
    "broadcast_one_to_all",
    "global_array_to_host_local_array",
    "host_local_array_to_global_array",
    "process_allgather",
    "sync_global_devices",
]


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """Gathers the values of each array on every process, as numpy arrays.

    Args:
      in_tree: a pytree. For an array over several processes, the result is the whole array. For
        another array, the result is the arrays of all processes, stacked along a new first
        dimension.
      tiled: concatenate arrays of the latter kind along their first dimension instead.

    Raises:
      RuntimeError: if the processes do not run the same operation; see ``distributed.initialize``.
    """

    def gather(leaf: Any) -> Any:
        array = _core.as_array(leaf)
        if not array.is_fully_addressable:
            return np.asarray(_core.distributed.gather(array))
        if _core.distributed.process_count() == 1:
            stacked = np.asarray(array)[None]
        else:
            stacked = np.asarray(_core.distributed.call("mpi.allgather", array))
        return np.concatenate(stacked) if tiled and array.ndim > 0 else stacked

    return tree.map(gather, in_tree)


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """Copies the arrays of one process to every process, as numpy arrays.

    Args:
      in_tree: a pytree of arrays, with the same shapes and dtypes on all processes.
      is_source: whether this process is the source; process 0 by default.

    Raises:
      ValueError: if not exactly one process is the source.
    """
    index, count = _core.distributed.process_index(), _core.distributed.process_count()
    if count == 1:
        return tree.map(np.asarray, in_tree)
    given = index == 0 if is_source is None else bool(is_source)
    flags = np.asarray(_core.distributed.call("mpi.allgather", np.array(given)))
    if flags.sum() != 1:
        raise ValueError(
            f"broadcast_one_to_all: one process must be the source; {int(flags.sum())} are"
        )
    root = int(np.argmax(flags))
    return tree.map(
        lambda leaf: np.asarray(_core.distributed.call("mpi.bcast", leaf, root=root)), in_tree
    )


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """Makes arrays over a mesh of the arrays of all processes.

    Args:
      local_inputs: a pytree of arrays: of the elements on the devices of this process.
      global_mesh: a Mesh.
      pspecs: PartitionSpecs, a tree prefix of ``local_inputs``.

    Raises:
      ValueError: for arrays that the specs do not divide evenly.
    """
    leaves, structure = tree.flatten(local_inputs)
    specs = spread(pspecs, local_inputs, "host_local_array_to_global_array: pspecs")
    return structure.unflatten(
        [
            make_array_from_process_local_data(NamedSharding(global_mesh, spec), leaf)
            for leaf, spec in zip(leaves, specs, strict=True)
        ]
    )


def global_array_to_host_local_array(global_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """The elements of arrays over a mesh that lie on the devices of this process.

    Args:
      global_inputs: a pytree of arrays; they are moved to the sharding that the specs name.
      global_mesh: a Mesh.
      pspecs: PartitionSpecs, a tree prefix of ``global_inputs``.
    """
    where = "global_array_to_host_local_array"
    leaves, structure = tree.flatten(global_inputs)
    specs = spread(pspecs, global_inputs, f"{where}: pspecs")
    return structure.unflatten(
        [
            _local_part(leaf, needed_sharding(NamedSharding(global_mesh, spec), leaf.shape, where))
            for leaf, spec in zip(leaves, specs, strict=True)
        ]
    )


def _local_part(array: Any, sharding: Any) -> Any:
    array = _core.as_array(array)
    if not sharding.is_equivalent_to(array.sharding, array.ndim):
        array = device_put(array, sharding)
    box = box_of(sharding, array.shape)
    part = np.empty([stop - start for start, stop in box], array.dtype)
    for shard in array.addressable_shards:
        ranges = zip(shard.index, array.shape, box, strict=True)
        at = [(index.indices(size), start) for index, size, (start, _) in ranges]
        part[tuple(slice(i[0] - start, i[1] - start) for i, start in at)] = shard.data
    return _core.as_array(part)


def sync_global_devices(name: str) -> None:
    """Waits until all processes have called this with the same name.

    Raises:
      RuntimeError: if the names differ.
    """
    if _core.distributed.process_count() > 1:
        _core.distributed.agree(f"sync_global_devices({name!r})")


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Raises AssertionError if the arrays differ between processes."""
    for leaf in tree.leaves(process_allgather(in_tree)):
        for other in leaf[1:]:
            if not np.array_equal(leaf[0], other, equal_nan=leaf.dtype.kind in "fc"):
                raise AssertionError(fail_message or "the processes have different values")


_show_names_of(__name__)
