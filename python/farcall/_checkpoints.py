"""Arrays on disk, stored by shards: each process writes and reads its own shards."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from farcall import _core
from farcall._array import ShapeDtypeStruct
from farcall._placement import make_array_from_callback, place, sharding_of, spread
from farcall._sharding import NamedSharding, check_sharding, is_spread
from farcall._tree_paths import flatten_with_path, keystr

_INDEX = "farcall_arrays.json"
_VERSION = 1

Bounds = list[tuple[int, int]]


def save(path: str | os.PathLike[str], arrays: Any) -> None:
    """Writes the arrays of a pytree to a folder; each process writes the shards of its devices.

    Every process must call this, with a path on a shared file system. An existing folder is
    replaced only after all shards are written; if a process fails, it stays as it was.

    Args:
      path: the folder.
      arrays: a pytree of arrays. Process 0 writes the arrays that are not spread over processes.

    Raises:
      ValueError: for dtypes without a byte representation, such as keys.
      OSError: if the folder cannot be written.
    """
    target = Path(path)
    partial = target.with_name(f".{target.name}.partial")
    index = _core.distributed.process_index()
    if index == 0:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
    _meet(f"distributed.save({os.fspath(path)!r})")
    leaves, _ = flatten_with_path(arrays)
    entries = []
    for number, (key, leaf) in enumerate(leaves):
        array = _core.as_array(leaf)
        if array.dtype.kind not in "biufcV" or not isinstance(array.dtype, np.dtype):
            raise ValueError(f"save: {keystr(key)} has dtype {array.dtype}, which cannot be saved")
        for bounds, data in _own_parts(array, index):
            np.ascontiguousarray(data).view(np.uint8).reshape(-1).tofile(
                partial / _file_of(number, bounds)
            )
        parts = [_file_of(number, bounds) for bounds in _all_parts(array)]
        entries.append(
            {
                "key": keystr(key),
                "shape": list(array.shape),
                "dtype": array.dtype.name,
                "parts": parts,
            }
        )
    _meet(f"distributed.save({os.fspath(path)!r}): all shards written")
    if index == 0:
        text = json.dumps({"version": _VERSION, "arrays": entries}, indent=1)
        (partial / _INDEX).write_text(text)
        old = target.with_name(f".{target.name}.old")
        shutil.rmtree(old, ignore_errors=True)
        if target.exists():
            target.rename(old)
        partial.rename(target)
        shutil.rmtree(old, ignore_errors=True)
    _meet(f"distributed.save({os.fspath(path)!r}): done")


def load(path: str | os.PathLike[str], like: Any, shardings: Any = None) -> Any:
    """Loads what ``save`` wrote; the number of processes and devices may differ.

    Each process reads the elements that its devices need.

    Args:
      path: the folder.
      like: a pytree of arrays or ShapeDtypeStructs with the saved structure.
      shardings: the shardings of the results, a tree prefix of ``like``; by default those of the
        arrays of ``like``.

    Raises:
      FileNotFoundError: if there is no such folder.
      ValueError: if the structure, or the shape or dtype of an array, differs from what was saved.
    """
    folder = Path(path)
    index = folder / _INDEX
    if not index.exists():
        raise FileNotFoundError(f"load: {os.fspath(path)!r} was not written by distributed.save")
    saved = json.loads(index.read_text())
    if saved["version"] != _VERSION:
        raise ValueError(
            f"load: {index} has version {saved['version']}; this farcall reads {_VERSION}"
        )
    leaves, structure = flatten_with_path(like)
    keys, wanted = [entry["key"] for entry in saved["arrays"]], [keystr(key) for key, _ in leaves]
    if keys != wanted:
        raise ValueError(f"load: {os.fspath(path)!r} contains arrays {keys}, but like has {wanted}")
    return structure.unflatten(
        [
            _load_array(folder, entry, leaf, sharding)
            for entry, (_, leaf), sharding in zip(
                saved["arrays"], leaves, spread(shardings, like, "load: shardings"), strict=True
            )
        ]
    )


def _load_array(folder: Path, entry: Any, like: Any, sharding: Any) -> Any:
    shape = tuple(entry["shape"])
    dtype = np.dtype(ShapeDtypeStruct((), entry["dtype"]).dtype)
    if tuple(np.shape(like)) != shape or np.dtype(like.dtype) != dtype:
        raise ValueError(
            f"load: {entry['key']} was saved as {dtype.name}{list(shape)}, but like has "
            f"{np.dtype(like.dtype).name}{list(np.shape(like))}"
        )
    parts = [(_bounds_in(name), name) for name in entry["parts"]]

    def read(index: tuple[slice, ...]) -> np.ndarray[Any, Any]:
        bounds = _bounds_of(index, shape)
        made = np.empty([stop - start for start, stop in bounds], dtype)
        for has, name in parts:
            both = [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(bounds, has, strict=True)]
            if any(start >= stop for start, stop in both):
                continue
            sizes = [stop - start for start, stop in has]
            data = np.memmap(folder / name, dtype, "r", shape=tuple(sizes) or (1,))
            data = data.reshape(sizes)
            made[_within(both, bounds)] = data[_within(both, has)]
        return made

    sharding = check_sharding(sharding, shape, "load")
    if sharding is None and isinstance(like, _core.Array) and like.committed:
        sharding = sharding_of(like)
    if sharding is not None and is_spread(sharding):
        return make_array_from_callback(shape, sharding, read, dtype)
    return place(_core.as_array(read((slice(None),) * len(shape))), sharding)


def _meet(what: str) -> None:
    if _core.distributed.process_count() > 1:
        _core.distributed.agree(what)


def _all_parts(array: Any) -> list[Bounds]:
    """The bounds of the distinct shards of an array, over all processes."""
    sharding = sharding_of(array)
    if not (isinstance(sharding, NamedSharding) and is_spread(sharding)):
        return [_bounds_of((slice(None),) * array.ndim, array.shape)]
    return [
        _bounds_of(index, array.shape)
        for index, replica in sharding.shards(array.shape)
        if replica == 0
    ]


def _own_parts(array: Any, process: int) -> Iterator[tuple[Bounds, np.ndarray[Any, Any]]]:
    """The shards that this process writes: bounds and elements."""
    for shard in array.addressable_shards:
        is_of_all = array.is_fully_addressable
        if shard.replica_id == 0 and (process == 0 or not is_of_all):
            yield _bounds_of(shard.index, array.shape), np.asarray(shard.data)


def _bounds_of(index: tuple[slice, ...], shape: tuple[int, ...]) -> Bounds:
    return [part.indices(size)[:2] for part, size in zip(index, shape, strict=True)]


def _within(inner: Bounds, outer: Bounds) -> tuple[slice, ...]:
    return tuple(
        slice(start - first, stop - first)
        for (start, stop), (first, _) in zip(inner, outer, strict=True)
    )


def _file_of(number: int, bounds: Bounds) -> str:
    return "_".join([str(number), *(f"{start}-{stop}" for start, stop in bounds)]) + ".bin"


def _bounds_in(name: str) -> Bounds:
    ranges = name.removesuffix(".bin").split("_")[1:]
    return [(int(start), int(stop)) for start, stop in (each.split("-") for each in ranges)]
