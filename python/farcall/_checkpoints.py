"""Arrays on disk, stored by shards: each process writes and reads its own shards."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from farcall import _core, mpi
from farcall._array import ShapeDtypeStruct
from farcall._placement import make_array_from_callback, place, sharding_of, spread
from farcall._sharding import NamedSharding, check_sharding, is_spread
from farcall._tree_paths import flatten_with_path, keystr

_INDEX = "farcall_arrays.json"
_VERSION = 1

Bounds = list[tuple[int, int]]


def save(path: str | os.PathLike[str], arrays: Any) -> None:
    """Writes the arrays of a pytree to a folder; each process writes the shards of its devices.

    Every process must call this, with a path on a shared file system. A folder that this wrote
    before is replaced only after all shards are written; if a process fails, it stays as it was,
    and all processes raise.

    Args:
      path: the folder. Its parent folders are made if needed.
      arrays: a pytree of arrays. Process 0 writes the arrays that are not spread over processes.

    Raises:
      FileExistsError: if there is something else at the path than an empty folder or one that this
        function wrote.
      ValueError: for dtypes without a byte representation, such as keys.
      OSError: if the folder cannot be written.
      RuntimeError: if another process has failed.
    """
    target = Path(path)
    where = f"distributed.save({os.fspath(path)!r})"
    partial = target.with_name(f".{target.name}.partial")
    index = _core.distributed.process_index()
    entries: list[dict[str, Any]] = []

    def begin() -> None:
        if index != 0:
            return
        _check_is_replaceable(target, where)
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)

    def write() -> None:
        if not partial.is_dir():
            raise FileNotFoundError(
                f"{where}: process {index} does not see the folder {os.fspath(partial)!r}, which "
                "process 0 made; the path must be on a file system that all processes share"
            )
        entries.extend(_written(partial, arrays, index))

    def replace() -> None:
        if index != 0:
            return
        text = json.dumps({"version": _VERSION, "arrays": entries}, indent=1)
        (partial / _INDEX).write_text(text)
        old = target.with_name(f".{target.name}.old")
        shutil.rmtree(old, ignore_errors=True)
        if target.exists():
            target.rename(old)
        partial.rename(target)
        shutil.rmtree(old, ignore_errors=True)

    try:
        _together(where, begin)
        _together(where, write)
        _meet(f"{where}: {', '.join(entry['key'] for entry in entries)}")
        _together(where, replace)
    except Exception:
        if index == 0:
            shutil.rmtree(partial, ignore_errors=True)
        raise


def _meet(what: str) -> None:
    """Waits for the other processes, and raises in all if they are elsewhere."""
    if _core.distributed.process_count() > 1:
        _core.distributed.agree(what)


def _check_is_replaceable(target: Path, where: str) -> None:
    """Raises FileExistsError for what ``save`` has not written, which it must not delete."""
    if not target.exists() and not target.is_symlink():
        return
    if target.is_dir() and ((target / _INDEX).exists() or not any(target.iterdir())):
        return
    raise FileExistsError(
        f"{where}: there is a {'folder' if target.is_dir() else 'file'} at this path that "
        "distributed.save has not written, and would delete; pass the path of a new folder"
    )


def _together(where: str, step: Callable[[], None]) -> None:
    """Runs a step in all processes, and raises in all if it fails in one."""
    if _core.distributed.process_count() == 1:
        step()
        return
    error = None
    try:
        step()
    except Exception as raised:
        error = raised
    _meet(f"{where}: {step.__name__}")
    own = f"{type(error).__name__}: {error}" if error else ""
    texts = np.asarray(mpi.allgather(np.frombuffer(own.encode()[:400].ljust(400), np.uint8)))
    if error is not None:
        raise error
    for process, text in enumerate(texts):
        reason = text.tobytes().decode(errors="replace").rstrip()
        if reason:
            raise RuntimeError(f"{where}: process {process} failed: {reason}")


def _written(folder: Path, arrays: Any, index: int) -> Iterator[dict[str, Any]]:
    """Writes the own shards of the arrays; yields what the index says about each array."""
    leaves, _ = flatten_with_path(arrays)
    for number, (key, leaf) in enumerate(leaves):
        array = _core.as_array(leaf)
        if array.dtype.kind not in "biufcV" or not isinstance(array.dtype, np.dtype):
            raise ValueError(f"save: {keystr(key)} has dtype {array.dtype}, which cannot be saved")
        for bounds, data in _own_parts(array, index):
            np.ascontiguousarray(data).view(np.uint8).reshape(-1).tofile(
                folder / _file_of(number, bounds)
            )
        yield {
            "key": keystr(key),
            "shape": list(array.shape),
            "dtype": array.dtype.name,
            "parts": [_file_of(number, bounds) for bounds in _all_parts(array)],
        }


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
      ValueError: if the structure, or the shape or dtype of an array, differs from what was saved,
        and if a file is missing or damaged.
    """
    folder = Path(path)
    index = folder / _INDEX
    if not index.exists():
        raise FileNotFoundError(f"load: {os.fspath(path)!r} was not written by distributed.save")
    try:
        saved = json.loads(index.read_text())
        version = saved["version"]
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"load: {os.fspath(index)!r} is damaged: {error}") from None
    if version != _VERSION:
        raise ValueError(f"load: {index} has version {version}; this farcall reads {_VERSION}")
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
    if not hasattr(like, "dtype"):
        like = _core.as_array(like)
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
            data = _mapped(folder / name, dtype, sizes)
            made[_within(both, bounds)] = data[_within(both, has)]
        return made

    sharding = check_sharding(sharding, shape, "load")
    if sharding is None and isinstance(like, _core.Array) and like.committed:
        sharding = sharding_of(like)
    if sharding is not None and is_spread(sharding):
        return make_array_from_callback(shape, sharding, read, dtype)
    return place(_core.as_array(read((slice(None),) * len(shape))), sharding)


def _mapped(file: Path, dtype: np.dtype[Any], sizes: list[int]) -> np.ndarray[Any, Any]:
    wanted = math.prod(sizes) * dtype.itemsize
    found = file.stat().st_size if file.exists() else None
    if found != wanted:
        has = "is missing" if found is None else f"has {found} bytes"
        raise ValueError(
            f"load: {os.fspath(file)!r} {has}, and {wanted} bytes were saved; the folder is damaged"
        )
    return np.memmap(file, dtype, "r", shape=tuple(sizes) or (1,)).reshape(sizes)


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
